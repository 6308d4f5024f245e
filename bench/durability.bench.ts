/**
 * What copies and shards cost: puts, reads, reads with drives gone, and repair. Everything is on directories of one
 * drive, so more copies share what it gives; on drives of their own they would not.
 */
import type { Address } from '@cairn/wire'
import { StoragePlace } from './durability/storage-place.ts'
import { type BenchCase, perSecond } from './harness.ts'
import { StampedBytes } from './storage/stamped.ts'

const MIB = 1024 * 1024
const CHUNK_BYTES = 64 * 1024
/** Of whole stripes: eight of six chunks. */
const OBJECT_BYTES = 8 * 6 * CHUNK_BYTES
const OBJECTS = 4
const REPAIR_WORKERS = 4
const RF1 = { drives: 1, durability: {} } as const
const RF2 = { drives: 3, durability: { replication_factor: 2 } } as const
const EC = { drives: 9, durability: { mode: 'erasure' } } as const

const WHAT = `${OBJECTS} objects of ${OBJECT_BYTES / MIB} MiB in chunks of 64 KiB, one after the other`
const WHERE = 'directories of one drive, no port, no memory of chunks, default limits'

const places = new Map<string, Promise<StoragePlace>>()
const bytes = new StampedBytes(OBJECT_BYTES)

async function place(name: string, options: Parameters<typeof StoragePlace.open>[0]): Promise<StoragePlace> {
  const opened = places.get(name) ?? StoragePlace.open(options)
  places.set(name, opened)
  return await opened
}

/** Ends everything the cases started. */
export async function close(): Promise<void> {
  for (const opened of places.values()) await (await opened).close()
}

async function puts(where: StoragePlace): Promise<number> {
  return await perSecond(OBJECTS * OBJECT_BYTES, OBJECTS, async () => {
    const put = new Set<Address>()
    for (let count = 0; count < OBJECTS; count += 1) put.add(await where.put(bytes.next()))
    return put.size
  })
}

const readable = new Map<StoragePlace, Address[]>()

async function gets(where: StoragePlace): Promise<number> {
  return await perSecond(OBJECTS * OBJECT_BYTES, OBJECTS * OBJECT_BYTES, async () => {
    let sum = 0
    for (const id of readable.get(where) ?? []) sum += await where.get(id)
    return sum
  })
}

/** With objects to read on it; `lost` of its drives are taken away after they were put. */
async function filled(name: string, options: Parameters<typeof StoragePlace.open>[0], lost = 0): Promise<StoragePlace> {
  const where = await place(name, options)
  if (readable.has(where)) return where
  const ids: Address[] = []
  for (let count = 0; count < OBJECTS; count += 1) ids.push(await where.put(bytes.next()))
  readable.set(where, ids)
  await where.lose(lost)
  return where
}

const COMMON = { unit: 'bytes/s', higherIsBetter: true } as const

async function repairs(): Promise<number> {
  const where = await filled('repair', EC)
  const lost = await where.loseShards(0, CHUNK_BYTES)
  const expected = lost.length * CHUNK_BYTES
  return await perSecond(expected, expected, async () => await where.heal(0, lost, REPAIR_WORKERS))
}

async function copies(): Promise<number> {
  const where = await place('copies', RF2)
  const chunks = Array.from({ length: OBJECTS * 8 }, () => Uint8Array.from(bytes.next().subarray(0, CHUNK_BYTES)))
  const expected = chunks.length * CHUNK_BYTES
  return await perSecond(expected, expected, async () => await where.putChunks(0, chunks, REPAIR_WORKERS))
}

export const CASES: readonly BenchCase[] = [
  {
    ...COMMON,
    name: 'put-two-copies',
    peerName: 'the same with one copy',
    limits: `${WHAT}; two copies on three drives; ${WHERE}`,
    ours: async () => await puts(await place('rf2', RF2)),
    peer: async () => await puts(await place('rf1', RF1)),
  },
  {
    ...COMMON,
    name: 'put-6+3',
    peerName: 'the same with one copy',
    limits: `${WHAT}; 6+3 shards on nine drives; ${WHERE}`,
    ours: async () => await puts(await place('ec', EC)),
    peer: async () => await puts(await place('rf1', RF1)),
  },
  {
    ...COMMON,
    name: 'get-two-copies',
    peerName: 'the same with one copy',
    limits: `${WHAT}; two copies on three drives; ${WHERE}`,
    ours: async () => await gets(await filled('rf2-read', RF2)),
    peer: async () => await gets(await filled('rf1-read', RF1)),
  },
  {
    ...COMMON,
    name: 'get-6+3',
    peerName: 'the same with one copy',
    limits: `${WHAT}; 6+3 shards on nine drives; ${WHERE}`,
    ours: async () => await gets(await filled('ec-read', EC)),
    peer: async () => await gets(await filled('rf1-read', RF1)),
  },
  {
    ...COMMON,
    name: 'get-6+3-three-drives-gone',
    peerName: 'the same with all nine drives',
    limits: `${WHAT}; 6+3 shards, three of nine drives gone; ${WHERE}`,
    ours: async () => await gets(await filled('ec-degraded', EC, 3)),
    peer: async () => await gets(await filled('ec-read', EC)),
  },
  {
    ...COMMON,
    name: 'repair-6+3',
    peerName: 'as many bytes written to the drive as they are, each chunk synced',
    limits: `every shard of one drive lost, ${REPAIR_WORKERS} workers, without the budget of 50 MiB/s that holds them back; bytes of rebuilt shards; ${WHERE}`,
    ours: repairs,
    peer: copies,
  },
]
