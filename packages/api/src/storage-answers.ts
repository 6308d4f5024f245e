/** What storage answers. Browser code reads answers with these, so they are made of the small form of zod. */
import * as z from 'zod/mini'

const count = z.int().check(z.minimum(0))

export const storedObject = z.object({ address: z.string(), size: count, new: z.boolean() })
export const storedChunk = z.object({ address: z.string(), new: z.boolean() })
export const storedChunks = z.object({ chunks: count, new: count })
export const missingChunks = z.object({ missing: z.array(z.string()), upload: z.string() })
export const chunkPage = z.object({ chunks: z.array(z.string()) })

export const objectPage = z.object({
  objects: z.array(z.object({ address: z.string(), size: count, type: z.string() })),
  cursor: z.nullable(z.string()),
})

/** What would be lost, or was. */
export const segmentLoss = z.object({
  segment: count,
  drive: z.string(),
  /** Nothing of it can be read, so that it is not known what it held. */
  unreadable: z.boolean(),
  damaged_bytes: count,
  salvaged: count,
  lost: z.object({ chunks: count, objects: count, holds: count, deletes: count }),
  kept_as: z.nullable(z.string()),
})

const objectStates = z.nullable(z.object({ sound: count, damaged: count }))

/** How far a scrub has come, and what it found. */
export const scrubReport = z.object({
  state: z.enum(['waiting', 'reading']),
  /** How much of everything this round has read, 0 to 1; of the last round if none is under way. */
  coverage: z.number(),
  age_ms: z.nullable(z.number()),
  cursor: z.nullable(z.object({ segment: count, offset: count, live_bytes: count })),
  total_bytes: count,
  read: count,
  records: count,
  bytes: count,
  damaged: z.array(z.string()),
  damaged_count: count,
  damaged_records: count,
  damaged_bytes: count,
  missing: count,
  mended: count,
  not_read: z.array(count),
  objects: objectStates,
  /** Unix milliseconds; null before the first round has ended. */
  completed_at: z.nullable(z.number()),
})

/** Objects by how many copies they have, at the end of a round of the planner. */
const copiesReport = z.object({
  at: z.number(),
  objects: count,
  full: count,
  under: count,
  single: count,
  /** With fewer shards than it takes to read them. */
  lost: count,
  tombstones: count,
  proved: z.nullable(count),
  away: z.array(z.string()),
  /** Repairs that this round had room to ask for. */
  planned: count,
})

const copyPlace = z.object({
  id: z.string(),
  kind: z.enum(['drive', 'peer']),
  node: z.string(),
  domain: z.string(),
  region: z.string(),
  state: z.enum(['up', 'unwritable', 'down']),
  why: z.string(),
})

/** How safe everything is, by what was looked at. */
export const durabilityReport = z.object({
  /** Copies each object should have. */
  target_copies: count,
  /** The fewest copies any object has that a scrub has read and proved; null before there was one. */
  observed_copies: z.nullable(count),
  /** The public key this node signs with: what its peers may name as its `key`. */
  key: z.string(),
  targets: count,
  objects: objectStates,
  drive: z.optional(z.object({ writable: z.boolean(), why: z.string(), stalled: z.boolean() })),
  catching_up: z.boolean(),
  /** What was unusual about how the index came to be at this start, in sentences. */
  index: z.array(z.string()),
  damaged_segments: z.array(count),
  collection: z.object({ blocked_by: z.nullable(z.string()) }),
  scrub: scrubReport,
  repairs: z.object({ pending: count }),
  /** Absent with one target. */
  copies: z.optional(z.nullable(copiesReport)),
  places: z.optional(z.array(copyPlace)),
})

export const queuedRepair = z.object({ queued: z.boolean() })

const object = z.object({
  tag: z.literal('object'),
  version: count,
  proved: z.boolean(),
  owners: z.optional(z.array(z.string())),
})
/** `record` is the signed statement of the node that took the delete; without it a delete is a hint. */
const tombstone = z.object({ tag: z.literal('tombstone'), version: count, record: z.optional(z.string()) })
const absent = z.object({ tag: z.literal('absent'), partial: z.optional(z.boolean()) })

/** What a node knows of the objects it was asked about, in that order. */
export const knownCopies = z.object({
  node: z.string(),
  /** The public key that node signs with. */
  key: z.optional(z.string()),
  /** The highest version that node has issued or heard of. */
  version: count,
  copies: z.array(z.discriminatedUnion('tag', [absent, object, tombstone])),
})

const row = { address: z.string() }
export const copyPage = z.object({
  copies: z.array(z.discriminatedUnion('tag', [z.extend(object, row), z.extend(tombstone, row)])),
})

export const copyFacts = z.object({
  size: count,
  type: z.string(),
  chunk_size: count,
  version: count,
  owners: z.array(z.string()),
})
