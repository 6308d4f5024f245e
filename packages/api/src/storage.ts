/** The routes of storage. */
import { z } from 'zod'
import { address, contract, pageLimit } from './contract.ts'
import * as answers from './storage-answers.ts'

/** Ids in one question, and chunks in one request; the ids fit into a body of `max_body_bytes`. */
export const CHUNKS_MAX = 8192
/** Objects in one question of another node. */
const KNOWN_MAX = 1024
const PAGE_MAX = 1000
const OBJECTS_DEFAULT = 100
const CHUNK_BYTES_MIN = 16 * 1024
export const CHUNK_BYTES_MAX = 1024 * 1024
/** The powers of two between them. */
const CHUNK_SIZES = [16, 32, 64, 128, 256, 512, 1024].map((kib) => kib * 1024)
export const MANIFEST_TYPE = 'application/vnd.ipld.dag-cbor'
const OCTETS = 'application/octet-stream'

/** How a read can fail, whatever is read. */
const READ_ERRORS = {
  integrity: 502,
  read_failed: 503,
  drive_stalled: 503,
  drive_failed: 503,
  copies_away: 503,
  rebuilding: 503,
} as const

/** How a write can fail, whatever is written. */
const WRITE_ERRORS = {
  write_failed: 503,
  not_ready: 503,
  drive_stalled: 503,
  rebuilding: 503,
  under_replicated: 503,
  copies_away: 503,
  drive_failed: 503,
  no_space: 507,
} as const

const CHUNK_WRITE_ERRORS = {
  write_failed: 503,
  not_ready: 503,
  drive_stalled: 503,
  drive_failed: 503,
  no_space: 507,
} as const

/** How a copy from another node can be refused. */
const COPY_ERRORS = { newer_version: 409, rejoin_empty: 409 } as const

const DELETE_ERRORS = { unsigned_delete: 409, ...COPY_ERRORS } as const

const NODE_ERRORS = { rebuilding: 503, drive_failed: 503 } as const

const BODY_ERRORS = { payload_too_large: 413, decompress_cap: 413, ratio_cap: 413 } as const

const addressParams = z.strictObject({ address })

const upload = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')

/**
 * Chunks are kept for the upload that is named; for the request's own correlation id if none is. Who knows the object
 * they are for says so, and they land where it will be.
 */
const uploadQuery = z.strictObject({ upload: upload.optional(), object: address.optional() })

/** What a copy that another node sends says about itself. Every owner it names holds the copy too. */
const copyQuery = z.strictObject({
  copy: z.coerce.number().int().min(0).optional(),
  owners: z.string().max(4096).optional(),
})

/** Who holds an object. */
const owner = z.string().regex(/^[\w.:@/-]{1,128}$/, 'must be 1 to 128 letters, digits or ._:@/- characters')

const streamQuery = z.strictObject({ stream: z.string().optional() })

const object = { path: '/o/:address', lane: 'inline', params: addressParams } as const
const objectStored = {
  200: { description: 'It was here already.', schema: answers.storedObject },
  201: { description: 'Stored, durably.', schema: answers.storedObject },
}

export const getObject = contract({
  ...object,
  method: 'GET',
  summary: 'The object, whole or in ranges; every byte is proved before it leaves.',
  responses: {
    200: { description: 'All of it, as the media type it was put with.', mediaType: '*/*' },
    206: { description: 'The ranges asked for.', mediaType: '*/*' },
    304: { description: 'The client has it.' },
  },
  errors: { not_found: 404, precondition_failed: 412, range_not_satisfiable: 416, ...READ_ERRORS },
})

export const postObject = contract({
  method: 'POST',
  path: '/o',
  lane: 'inline',
  scope: 'storage:write',
  summary: 'Stores the body and says its address. With `?stream` the body may be larger than `max_body_bytes`.',
  query: streamQuery,
  body: 'bytes',
  responses: objectStored,
  errors: { ...BODY_ERRORS, ...WRITE_ERRORS },
})

export const putObject = contract({
  ...object,
  method: 'PUT',
  scope: 'storage:write',
  summary:
    'Stores the body if it is what the address says. `?stream` as above. `?hold=OWNER` holds the object in the same durable step; it needs `storage:hold` too. `?copy=VERSION` is a copy from another node.',
  query: streamQuery.extend({
    hold: owner.optional(),
    chunk_size: z.coerce
      .number()
      .int()
      .min(CHUNK_BYTES_MIN)
      .max(CHUNK_BYTES_MAX)
      .meta({ enum: CHUNK_SIZES })
      .optional(),
    ...copyQuery.shape,
  }),
  body: 'bytes',
  responses: objectStored,
  errors: { conflict: 409, ...COPY_ERRORS, ...BODY_ERRORS, ...WRITE_ERRORS },
})

export const deleteObject = contract({
  ...object,
  method: 'DELETE',
  scope: 'storage:delete',
  summary:
    "Drops the object, durably. Chunks without another reference go later. `?copy=VERSION` is the delete of another node, obeyed on a member's `X-Cairn-Statement`, not while it is held here.",
  query: z.strictObject({ copy: copyQuery.shape.copy, agreed: z.string().optional() }),
  responses: { 204: { description: 'Gone.' } },
  errors: { not_found: 404, referenced: 409, ...DELETE_ERRORS, ...WRITE_ERRORS },
})

const chunk = { path: '/c/:address', lane: 'inline', params: addressParams } as const

export const getChunk = contract({
  ...chunk,
  method: 'GET',
  summary: 'One chunk by its own hash.',
  responses: { 200: { description: 'Its bytes, proved.', mediaType: OCTETS } },
  errors: { not_found: 404, ...READ_ERRORS },
})

export const putChunk = contract({
  ...chunk,
  method: 'PUT',
  scope: 'storage:write',
  summary: 'Stores one chunk and keeps it for the upload.',
  query: uploadQuery,
  body: 'bytes',
  responses: {
    200: { description: 'It was here already.', schema: answers.storedChunk },
    201: { description: 'Stored, durably.', schema: answers.storedChunk },
  },
  errors: { conflict: 409, ...CHUNK_WRITE_ERRORS },
})

export const deleteChunk = contract({
  ...chunk,
  method: 'DELETE',
  scope: 'storage:admin',
  summary: 'Removes a chunk whatever refers to it, from every drive of this node. Objects made of it are damaged then.',
  responses: { 204: { description: 'Gone.' } },
  errors: { not_found: 404, ...CHUNK_WRITE_ERRORS },
})

export const findMissingChunks = contract({
  method: 'POST',
  path: '/c/missing',
  lane: 'inline',
  scope: 'storage:write',
  summary: `Which of up to ${CHUNKS_MAX} chunks are not here; the others are kept for the upload.`,
  query: uploadQuery,
  body: z.strictObject({ ids: z.array(address).max(CHUNKS_MAX) }),
  responses: {
    200: { description: 'Those to send, and the name the others are kept under.', schema: answers.missingChunks },
  },
  errors: NODE_ERRORS,
})

export const postChunks = contract({
  method: 'POST',
  path: '/c',
  lane: 'inline',
  scope: 'storage:write',
  summary: `Stores up to ${CHUNKS_MAX} chunks: each is four bytes of length, the highest first, then its bytes.`,
  query: uploadQuery,
  body: 'bytes',
  responses: {
    200: { description: 'How many, and how many were new; all of them durable.', schema: answers.storedChunks },
  },
  errors: { bad_frame: 400, payload_too_large: 413, ...CHUNK_WRITE_ERRORS },
})

export const listChunks = contract({
  method: 'GET',
  path: '/c',
  lane: 'inline',
  scope: 'storage:admin',
  summary: 'Chunks of this node in order, after the one given.',
  query: z.strictObject({ after: address.optional(), limit: pageLimit(PAGE_MAX) }),
  responses: { 200: { description: 'A page.', schema: answers.chunkPage } },
  errors: NODE_ERRORS,
})

const manifest = { path: '/m/:address', lane: 'inline', params: addressParams } as const

export const getManifest = contract({
  ...manifest,
  method: 'GET',
  summary: 'The manifest of an object of more than one chunk: it proves itself against the address.',
  query: z.strictObject({ copy: z.string().optional() }),
  responses: { 200: { description: 'Deterministic DAG-CBOR.', mediaType: MANIFEST_TYPE } },
  errors: { not_found: 404, single_chunk: 404, ...READ_ERRORS },
})

export const putManifest = contract({
  ...manifest,
  method: 'PUT',
  scope: 'storage:write',
  summary:
    'Commits an upload: every chunk is proved against the manifest, and the object is visible at once. Its media type is `X-Object-Type`.',
  query: uploadQuery.extend(copyQuery.shape),
  body: 'bytes',
  responses: {
    200: { description: 'It was here already.', schema: answers.storedObject },
    201: { description: 'Committed, durably.', schema: answers.storedObject },
  },
  errors: {
    single_chunk: 400,
    conflict: 409,
    chunk_mismatch: 409,
    missing_chunks: 409,
    ...COPY_ERRORS,
    payload_too_large: 413,
    read_failed: 503,
    ...WRITE_ERRORS,
  },
})

const reference = {
  path: '/refs/:owner/:address',
  lane: 'inline',
  scope: 'storage:hold',
  params: z.strictObject({ owner, address }),
} as const

/** With `copy` another node asks, about the copy on this one. */
const referenceQuery = z.strictObject({ copy: z.string().optional(), tree: z.string().optional() })

const treeProgress = {
  description:
    'With `?tree`: a line of JSON for each step, `{objects, changed, missing, missing_addresses}`; the last one has `done`.',
  mediaType: 'application/x-ndjson',
} as const

export const holdObject = contract({
  ...reference,
  method: 'PUT',
  query: referenceQuery,
  summary:
    'Keeps the object from being deleted for as long as the owner holds it. Durable, and idempotent. `?tree` holds a directory and everything below it, and writes only what the owner does not hold yet.',
  responses: { 200: treeProgress, 204: { description: 'Held.' } },
  errors: { not_found: 404, ...WRITE_ERRORS },
})

export const releaseObject = contract({
  ...reference,
  method: 'DELETE',
  query: referenceQuery.extend({
    keep: z.string().meta({ pattern: '^(?:b3:[0-9a-f]{64}(?:,b3:[0-9a-f]{64}){0,63})?$' }).optional(),
  }),
  summary:
    'Releases the object. Idempotent. `?tree` releases a directory and everything below it, but for what the directories in `keep` (up to 64 addresses, with commas) have too.',
  responses: { 200: treeProgress, 204: { description: 'Not held by this owner any more.' } },
  errors: WRITE_ERRORS,
})

const admin = { lane: 'inline', scope: 'storage:admin' } as const

const peer = { lane: 'inline', scope: 'storage:peer' } as const

export const listKnownCopies = contract({
  ...peer,
  method: 'POST',
  path: '/copies/known',
  summary: `What this node knows of up to ${KNOWN_MAX} objects, in the order asked; without any, that it is there.`,
  body: z.strictObject({ ids: z.array(address).max(KNOWN_MAX) }),
  responses: { 200: { description: 'A copy, a delete, or nothing, for each.', schema: answers.knownCopies } },
  errors: { ...NODE_ERRORS, rejoin_empty: 409 },
})

export const listCopies = contract({
  ...peer,
  method: 'GET',
  path: '/copies',
  summary: 'Copies and deletes of this node in order of address, after the one given.',
  query: z.strictObject({ after: address.optional(), limit: pageLimit(PAGE_MAX) }),
  responses: { 200: { description: 'A page; empty after the last.', schema: answers.copyPage } },
  errors: NODE_ERRORS,
})

export const getCopyFacts = contract({
  ...peer,
  method: 'GET',
  path: '/copies/:address',
  summary: 'What there is to say about the copy of an object on this node.',
  params: addressParams,
  responses: { 200: { description: 'Its facts.', schema: answers.copyFacts } },
  errors: { not_found: 404, ...NODE_ERRORS },
})

export const listObjects = contract({
  ...admin,
  method: 'GET',
  path: '/admin/objects',
  summary: 'Objects this node holds, in order of address, page by page: `cursor` is that of the page before.',
  query: z.strictObject({ cursor: address.optional(), limit: pageLimit(PAGE_MAX, OBJECTS_DEFAULT) }),
  responses: {
    200: { description: 'A page, and the cursor of the next; null after the last.', schema: answers.objectPage },
  },
  errors: READ_ERRORS,
})

export const getDurability = contract({
  ...admin,
  method: 'GET',
  path: '/admin/durability',
  summary: 'Copies wanted, and copies read and proved; objects by state; what the scrub has read, and when.',
  responses: { 200: { description: 'The report.', schema: answers.durabilityReport } },
})

export const beginScrub = contract({
  ...admin,
  method: 'POST',
  path: '/admin/scrub',
  summary: 'Begins a round of the scrub now, if none is under way.',
  responses: { 202: { description: 'Under way.', schema: answers.scrubReport } },
})

export const giveUpSegment = contract({
  ...admin,
  method: 'POST',
  path: '/admin/scrub/give-up',
  summary:
    'Gives up a segment that is damaged or unreadable: what can be read of it is copied, the rest is lost, and garbage can be collected again. With `dry_run` it only says what would be lost.',
  body: z.strictObject({
    segment: z.int().min(1),
    drive: z.string().optional(),
    dry_run: z.boolean().default(false),
  }),
  responses: { 200: { description: 'What is lost.', schema: answers.segmentLoss } },
  errors: { not_found: 404, segment_sound: 409, segment_active: 409, ...READ_ERRORS, ...WRITE_ERRORS },
})

export const requestRepair = contract({
  ...admin,
  method: 'POST',
  path: '/admin/repair',
  summary:
    'Plans repairs now: of one object, or, without a body, of whatever the planner finds. Peers that were caught get another chance.',
  body: z.strictObject({ address: address.optional() }).optional(),
  responses: { 202: { description: 'The planner is at work.', schema: answers.queuedRepair } },
  errors: { not_found: 404, ...READ_ERRORS },
})
