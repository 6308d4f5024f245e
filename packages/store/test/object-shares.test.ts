import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { leaks } from '@cairn/kernel/testing'
import { type Address, addressOf, digestOf, ManifestBuilder } from '@cairn/wire'
import { DriveStore } from '../src/drive-store.ts'
import { loseSideFiles, memoryMachine, type TestMachine } from './machine.ts'

const CHUNK_SIZE = 16_384
const LEASE_MS = 60 * 60 * 1000
const OPTIONS = { path: 'data', segmentBytes: 256 * 1024, cacheBytes: 64 * 1024 }

const CHUNKS = Array.from({ length: 6 }, (_, index) => new Uint8Array(CHUNK_SIZE).fill(index + 1))
const PARITY = Array.from({ length: 3 }, (_, index) => new Uint8Array(CHUNK_SIZE).fill(index + 101))

let machine: TestMachine
let storage: DriveStore

beforeEach(async () => {
  machine = memoryMachine()
  storage = await DriveStore.open(machine, OPTIONS)
})

afterEach(async () => {
  await storage.close()
  assert.deepEqual(leaks(machine), [])
})

const builder = new ManifestBuilder(CHUNK_SIZE)
for (const chunk of CHUNKS) builder.add(chunk)
const built = builder.finish()
assert.ok(built.kind === 'chunked')
const { id, size, manifest } = built
const OBJECT = { id, size, type: 'text/plain', chunkSize: CHUNK_SIZE, manifest, upload: 'u' }

function packed(shards: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(shards.map((shard) => digestOf(addressOf(shard))))
}

async function commitShare(share: readonly Uint8Array[], version: number, generation = 1): Promise<'new' | 'present'> {
  for (const shard of share) await storage.chunks.put(addressOf(shard), shard, { upload: 'u' })
  const stripes = { k: 6, m: 3, generation, parityIds: packed(PARITY), share: packed(share) }
  return await storage.copies.commit({ ...OBJECT, version, stripes })
}

async function sweep(): Promise<void> {
  machine.clock.advance(2 * LEASE_MS)
  assert.equal((await storage.sweeper.sweep(1000)).isOver, true)
}

async function left(): Promise<Address[]> {
  const ids = [...CHUNKS, ...PARITY].map((bytes) => addressOf(bytes))
  const missing = await storage.chunks.missing(ids, 'looking')
  machine.clock.advance(2 * LEASE_MS)
  return ids.filter((each) => !missing.includes(each))
}

const idsOf = (shards: readonly Uint8Array[]): Address[] => shards.map((shard) => addressOf(shard))

test('a store keeps its share of an object and sweeps the rest of the chunks', async () => {
  for (const chunk of CHUNKS) await storage.chunks.put(addressOf(chunk), chunk, { upload: 'source' })
  assert.equal(await commitShare([CHUNKS[2]!, PARITY[1]!], 1), 'new')
  await sweep()
  assert.deepEqual(await left(), idsOf([CHUNKS[2]!, PARITY[1]!]))
  const facts = await storage.objects.stat(id)
  assert.deepEqual([facts?.size, facts?.stripes?.k, facts?.stripes?.m, facts?.stripes?.generation], [size, 6, 3, 1])
})

test('a share that names what is not here is refused', async () => {
  const stripes = { k: 6, m: 3, generation: 1, parityIds: packed(PARITY), share: packed([CHUNKS[0]!]) }
  await assert.rejects(storage.copies.commit({ ...OBJECT, version: 1, stripes }), { code: 'missing_chunks' })
})

test('a share that has lost a shard is refused until the shard is here again, and is told once that is durable', async () => {
  await commitShare([CHUNKS[0]!, PARITY[0]!], 1)
  const [shard] = idsOf(CHUNKS)
  await storage.chunks.remove(shard!)
  const stripes = { k: 6, m: 3, generation: 1, parityIds: packed(PARITY), share: packed([CHUNKS[0]!, PARITY[0]!]) }
  await assert.rejects(storage.copies.commit({ ...OBJECT, version: 1, stripes }), { code: 'missing_chunks' })
  storage.chunks.submit(shard!, CHUNKS[0]!, 'u', { lazy: true })
  assert.equal(await storage.copies.commit({ ...OBJECT, version: 1, stripes }), 'present')
  assert.equal(storage.chunks.exists(shard!), true)
  await sweep()
  assert.deepEqual(await left(), idsOf([CHUNKS[0]!, PARITY[0]!]))
})

test('a share grows, survives a restart and a lost index, and goes with its object', async () => {
  await commitShare([CHUNKS[0]!], 1)
  assert.equal(await commitShare([CHUNKS[0]!, PARITY[0]!], 1), 'present')
  assert.equal(await commitShare([CHUNKS[0]!], 1), 'present')
  await storage.close()
  await loseSideFiles(machine, OPTIONS.path)
  storage = await DriveStore.open(machine, OPTIONS)
  await storage.caughtUp()
  await sweep()
  assert.deepEqual(await left(), idsOf([CHUNKS[0]!, PARITY[0]!]))
  await storage.copies.remove(id, { version: 2, isAgreed: false })
  await sweep()
  assert.deepEqual(await left(), [])
  assert.deepEqual(await storage.chunks.list(undefined, 10), [], 'nor any page')
})

test('a whole copy gives way to a share of it, and only that stays', async () => {
  for (const chunk of CHUNKS) await storage.chunks.put(addressOf(chunk), chunk, { upload: 'u' })
  await storage.copies.commit({ ...OBJECT, version: 1 })
  assert.equal(await commitShare([CHUNKS[5]!, PARITY[2]!], 2), 'present')
  await sweep()
  assert.deepEqual(await left(), idsOf([CHUNKS[5]!, PARITY[2]!]))
})

test('a newer generation takes the place of an older one, never the other way', async () => {
  await commitShare([CHUNKS[0]!, PARITY[0]!], 1, 1)
  await commitShare([CHUNKS[1]!], 4, 4)
  await sweep()
  assert.deepEqual(await left(), idsOf([CHUNKS[1]!]), 'shards of two generations are not in one share')
  await assert.rejects(commitShare([CHUNKS[0]!], 3, 1), { code: 'newer_version', cause: 4 })
})
