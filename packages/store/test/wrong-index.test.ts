/** A compaction under an index that is wrong: it takes away nothing that the journal does not prove to be dead. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { TokenBucket } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import { type Address, addressOf, digestOf } from '@cairn/wire'
import { SegmentChunkStore } from '../src/chunk/segment-chunk-store.ts'
import { Compactor } from '../src/compaction/compactor.ts'
import { ObjectStore } from '../src/object/object-store.ts'
import { Sweeper } from '../src/object/sweeper.ts'
import { KIND, RecordStore } from '../src/record-store.ts'
import { loseSideFiles, memoryMachine, type TestMachine } from './machine.ts'

const CHUNK_BYTES = 5_000
const PACE = { rate: 1_000_000_000, burst: 1_000_000_000 }
const OPTIONS = { path: 'data', segmentBytes: 32 * 1024, leaseMs: 1_000 }

let machine: TestMachine
let store: RecordStore
let chunks: SegmentChunkStore
let objects: ObjectStore

beforeEach(async () => {
  machine = memoryMachine()
  await open()
})

afterEach(async () => {
  await close()
  assert.deepEqual(leaks(machine), [])
})

async function open(): Promise<void> {
  store = new RecordStore(machine, OPTIONS)
  await store.start()
  chunks = new SegmentChunkStore(store, 1024)
  objects = new ObjectStore(store, chunks)
}

async function close(): Promise<void> {
  await store.close()
  chunks.close()
}

function bytesOf(seed: number): Uint8Array {
  return new Uint8Array(CHUNK_BYTES).fill(seed)
}

async function put(seed: number): Promise<Address> {
  const bytes = bytesOf(seed)
  const id = addressOf(bytes)
  await chunks.put(id, bytes, { upload: 'u' })
  const object = { id, size: bytes.length, type: '', chunkSize: 65_536, manifest: undefined, upload: 'u' }
  await objects.commit(object)
  return id
}

async function sweepAll(): Promise<void> {
  machine.clock.advance(2 * OPTIONS.leaseMs)
  const sweeper = new Sweeper(store, chunks)
  while (!(await sweeper.sweep(8)).isOver);
}

async function compactAll(between = async (): Promise<void> => {}): Promise<number> {
  const compactor = new Compactor(store, { pace: new TokenBucket(machine.clock, PACE), tombstoneKeepMs: 0 })
  let count = 0
  for (; (await compactor.compactOne()) !== undefined; count += 1) await between()
  return count
}

/** With an index made anew from the records alone. */
async function reopen(): Promise<void> {
  await close()
  await loseSideFiles(machine, OPTIONS.path)
  await open()
  await store.caughtUp()
}

async function mustBeWhole(id: Address, seed: number): Promise<void> {
  assert.equal((await objects.stat(id))?.size, CHUNK_BYTES, `object ${seed}`)
  using held = await chunks.read(id)
  assert.deepEqual(held?.bytes, bytesOf(seed), `chunk ${seed}`)
}

type Rot = (kind: number, id: Uint8Array) => void

/** An entry is gone; it points to another record; it says that a later record lies there. */
const ROTS: Readonly<Record<string, Rot>> = {
  'has lost entries': (kind, id) => {
    const { index } = store
    assert.ok(index.forget(kind, id, index.get(kind, id)!.place))
  },
  'points to other records': (kind, id) => {
    const { index } = store
    const elsewhere = index.get(KIND.object, digestOf(addressOf(bytesOf(1))))!.place
    assert.ok(index.move(kind, id, index.get(kind, id)!.place, elsewhere))
  },
  'says that there is something later': (kind, id) => {
    const { index } = store
    const { place, lsn } = index.get(kind, id)!
    assert.ok(index.applyEntry({ kind, id, place: { ...place, segment: 1 }, lsn: lsn + 1_000, isTombstone: true }))
  },
}

for (const [what, rot] of Object.entries(ROTS))
  test(`nothing acknowledged is lost when the index ${what} and segments are compacted`, async () => {
    const kept: [Address, number][] = []
    for (let seed = 0; seed < 40; seed += 1) {
      const id = await put(seed)
      if (seed % 5 === 0) kept.push([id, seed])
    }
    for (let seed = 0; seed < 40; seed += 1) if (seed % 5 !== 0) await objects.remove(addressOf(bytesOf(seed)))
    await put(1)
    kept.push([addressOf(bytesOf(1)), 1])
    await sweepAll()
    for (const [id] of kept.slice(0, 4)) for (const kind of [KIND.object, KIND.chunk]) rot(kind, digestOf(id))
    assert.ok((await compactAll()) > 0)
    await reopen()
    for (const [id, seed] of kept) await mustBeWhole(id, seed)
  })

test('what was deleted does not come back when the index has lost that it was', async () => {
  const ids: Address[] = []
  for (let seed = 0; seed < 12; seed += 1) ids.push(await put(seed))
  for (const id of ids.slice(0, 10)) await objects.remove(id)
  const { index } = store
  for (const id of ids.slice(0, 10)) {
    const entry = index.get(KIND.object, digestOf(id))!
    assert.ok(entry.isTombstone && index.forget(KIND.object, digestOf(id), entry.place))
  }
  const mustBeGone = async (): Promise<void> => {
    for (const id of ids.slice(0, 10)) assert.equal(await objects.stat(id), undefined)
  }
  await sweepAll()
  assert.ok((await compactAll(mustBeGone)) > 0)
  await reopen()
  await mustBeGone()
  for (const [at, id] of ids.slice(10).entries()) await mustBeWhole(id, 10 + at)
})
