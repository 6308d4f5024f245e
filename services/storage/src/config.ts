import { ingressSection, listenKeys } from '@cairn/http'
import { byteSize, duration, section, setting } from '@cairn/platform'
import { DEFAULT_CHUNK_BYTES } from '@cairn/wire'
import { z } from 'zod'

export const STORAGE_PORT_OFFSET = 1

const count = (min: number): z.ZodNumber => z.number().int().min(min)

/** Names of nodes, regions and failure domains: they end up in reports and in headers. */
const label = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'must be 1 to 64 letters, digits, ., _ or -')
const weight = z.number().min(0.01).max(100)

/** A directory, and what is known about it that the machine does not say. */
const drive = z.union([
  z.string().min(1),
  z.strictObject({ path: z.string().min(1), domain: label.optional(), weight: weight.prefault(1) }),
])

const peer = z.strictObject({
  url: z.string().refine((text) => /^https?:\/\/[^\s?#]+$/.test(text) && URL.canParse(text), {
    error: 'must be the URL of its storage service, such as http://10.0.0.2:7071',
  }),
  id: label,
  token_file: z.string().min(1),
  key: z
    .string()
    .regex(
      /^[A-Za-z0-9_-]{43}$/,
      'must be a public key of 43 characters, the `key` that the peer shows at /admin/durability',
    )
    .optional(),
  region: label.optional(),
  weight: weight.prefault(1),
})

function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(Math.log2(value))
}

/** `[storage]` */
export const storageSection = section({
  ...listenKeys(7070 + STORAGE_PORT_OFFSET),
  ingress: ingressSection(),
  drain_deadline: setting(duration({ min: 1000, max: 5000 }), {
    default: '3s',
    reload: 'restart',
    does: 'How long accepted work may take to finish on shutdown.',
  }),
  chunk_size: setting(byteSize({ min: 16 * 1024, max: 1024 * 1024 }).refine(isPowerOfTwo, 'must be a power of two'), {
    default: DEFAULT_CHUNK_BYTES,
    reload: 'restart',
    does: 'How objects put whole are cut: a power of two. Objects already here keep theirs.',
    designName: 'storage.chunk_size',
  }),
  cache_bytes: setting(byteSize({ min: 0 }), {
    default: '256MiB',
    reload: 'restart',
    does: 'Verified chunks kept in memory, and served from there.',
  }),
  reserve_bytes: setting(byteSize({ min: 1024 * 1024 }), {
    default: '512MiB',
    reload: 'restart',
    does: 'Room on the drive, held in a file, that only deletes and compaction may use, so that a full drive can be freed: two segments.',
  }),
  segment_bytes: setting(byteSize({ min: 2 * 1024 * 1024 }), {
    default: '256MiB',
    reload: 'restart',
    does: 'How long a file of the journal grows before the next is begun; smaller ones are compacted sooner.',
  }),
  upload_lease: setting(duration({ min: 100 }), {
    default: '1h',
    reload: 'restart',
    does: 'How long an upload keeps chunks that no object refers to yet, and how long after a start nothing is swept.',
  }),
  drive_timeout: setting(duration({ min: 100 }), {
    default: '5s',
    reload: 'restart',
    does: 'One operation of a drive; a drive that takes longer counts as stalled.',
  }),
  pools: section({
    get: setting(count(1), { default: 64, reload: 'restart', does: 'Reads from the disk worked on at once.' }),
    put: setting(count(1), { default: 32, reload: 'restart', does: 'Writes worked on at once.' }),
    repair: setting(count(1), { default: 4, reload: 'restart', does: 'Repairs worked on at once.' }),
  }),
  limits: section({
    max_object_bytes: setting(byteSize({ min: 1024 }), {
      default: '64GiB',
      reload: 'live',
      does: 'Largest object that can be streamed in.',
    }),
  }),
  auth: section({
    read_requires_capability: setting(z.boolean(), {
      default: false,
      reload: 'restart',
      does: 'Whether reads need a capability too: `storage:write`, which a `method` caveat narrows to reading.',
    }),
  }),
  drives: setting(z.array(drive).max(64), {
    default: [],
    reload: 'restart',
    does: 'Directories that hold copies, each on a drive of its own: `"/mnt/a"`, or `{ path, domain, weight }` where one device, or two that fail together, must not count twice or once. None: the data directory alone.',
    designName: 'storage.data_dirs',
  }),
  peers: setting(z.array(peer).max(64), {
    default: [],
    reload: 'restart',
    does: 'Other nodes that hold copies: `{ url, id, token_file, key, region, weight }`. `id` is what that node calls itself, the token is one of its own, with `storage:peer` and `storage:write`. `key` is the public key it signs with; without it the first it shows.',
  }),
  placement: section({
    id: setting(label, {
      reload: 'restart',
      does: 'What this node is called by the others; needed with `peers`, and never to be changed.',
    }),
    region: setting(label, {
      reload: 'restart',
      does: 'Where this node is: copies go to different regions first.',
      designName: 'placement.region',
    }),
    weight: setting(weight, { default: 1, reload: 'restart', does: 'How much this node takes beside the others.' }),
    hedged_reads: setting(z.boolean(), {
      default: true,
      reload: 'restart',
      does: 'Whether a read that is late is asked of a second copy as well; at most one read in twenty is.',
      designName: 'placement.hedged_reads',
    }),
    hedge_delay: setting(duration({ min: 1 }), {
      default: '30ms',
      reload: 'restart',
      does: 'When a read is late, until there are enough of them to know: then from their 95th percentile.',
      designName: 'placement.hedge_delay',
    }),
    peer_timeout: setting(duration({ min: 100 }), {
      default: '5s',
      reload: 'restart',
      does: 'One request to a peer.',
    }),
  }),
  durability: section({
    mode: setting(z.enum(['replicate', 'erasure']), {
      default: 'replicate',
      reload: 'restart',
      does: 'Whole copies, or shards of which any `data_shards` give the object back.',
      designName: 'durability.ec',
    }),
    replication_factor: setting(count(1).max(16), {
      default: 2,
      reload: 'restart',
      does: 'Copies of each object, in as many failure domains. With one target there is one.',
      designName: 'durability.replication_factor',
    }),
    data_shards: setting(count(1).max(128), {
      default: 6,
      reload: 'restart',
      does: 'Shards that are the object itself, in erasure mode.',
      designName: 'durability.ec_data_shards',
    }),
    parity_shards: setting(count(1).max(128), {
      default: 3,
      reload: 'restart',
      does: 'Shards that may be lost, in erasure mode.',
      designName: 'durability.ec_parity_shards',
    }),
    allow_degraded_writes: setting(z.boolean(), {
      default: false,
      reload: 'live',
      does: 'Whether a put is acknowledged with fewer copies than asked for, as long as there is one; `X-Cairn-Copies` says how many.',
    }),
    tombstone_keep: setting(duration({ min: 1000 }), {
      default: '720h',
      reload: 'restart',
      does: 'How long a delete is remembered at least; a target that was away for longer comes back empty.',
    }),
    repair_pacing: setting(byteSize({ min: 64 * 1024 }), {
      default: '50MiB',
      reload: 'restart',
      does: 'Bytes a second for all repairs together; a chunk that is larger is moved alone.',
      designName: 'durability.repair_pacing',
    }),
    scrub_pacing: setting(byteSize({ min: 64 * 1024 }), {
      default: '8MiB',
      reload: 'restart',
      does: 'Bytes a second the scrub reads.',
    }),
    sweep_interval: setting(duration({ min: 100 }), {
      default: '60s',
      reload: 'restart',
      does: 'Time between rounds of the sweeper, the compactor and the repair planner.',
    }),
  }),
})

export type StorageConfig = z.output<typeof storageSection>
