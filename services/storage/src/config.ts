import { byteSize, duration, ingressSection, listenKeys, section, setting } from '@cairn/platform'
import { DEFAULT_CHUNK_BYTES } from '@cairn/wire'
import { z } from 'zod'

export const STORAGE_PORT_OFFSET = 1

const count = (min: number): z.ZodNumber => z.number().int().min(min)

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
    does: 'Room on the drive that only deletes and compaction may use, so that a full drive can be freed: two segments.',
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
  durability: section({
    repair_pacing: setting(byteSize({ min: 64 * 1024 }), {
      default: '50MiB',
      reload: 'restart',
      does: 'Bytes a second for all repairs together.',
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
