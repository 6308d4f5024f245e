/** The scrub against an index that disagrees with the journal, in both directions. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { leaks } from '@cairn/kernel/testing'
import { type Address, addressOf, digestOf } from '@cairn/wire'
import { SegmentChunkStore } from '../src/chunk/segment-chunk-store.ts'
import { ObjectStore } from '../src/object/object-store.ts'
import { KIND, RecordStore } from '../src/record-store.ts'
import { type ScrubFinding, SegmentScrub } from '../src/scrub/segment-scrub.ts'
import { memoryMachine, type TestMachine } from './machine.ts'

const CHUNK_BYTES = 5_000

let machine: TestMachine
let store: RecordStore
let chunks: SegmentChunkStore
let objects: ObjectStore

beforeEach(async () => {
  machine = memoryMachine()
  store = new RecordStore(machine, { path: 'data', segmentBytes: 32 * 1024 })
  await store.start()
  chunks = new SegmentChunkStore(store, 1024)
  objects = new ObjectStore(store, chunks)
})

afterEach(async () => {
  await store.close()
  chunks.close()
  assert.deepEqual(leaks(machine), [])
})

async function put(seed: number): Promise<Address> {
  const bytes = new Uint8Array(CHUNK_BYTES).fill(seed)
  const id = addressOf(bytes)
  await chunks.put(id, bytes, { upload: 'u' })
  await objects.commit({ id, size: bytes.length, type: '', chunkSize: 65_536, manifest: undefined, upload: 'u' })
  return id
}

async function findings(): Promise<ScrubFinding[]> {
  const found: ScrubFinding[] = []
  const scrub = new SegmentScrub(store, chunks)
  for await (const step of scrub.read({ from: undefined, upToLsn: store.journal.syncedLsn }))
    found.push(...step.findings)
  return found
}

const count = (found: readonly ScrubFinding[], tag: ScrubFinding['tag']): number =>
  found.filter((each) => each.tag === tag).length

test('everything that lives is read, once, whatever else lies in the journal', async () => {
  const ids: Address[] = []
  for (let seed = 0; seed < 12; seed += 1) ids.push(await put(seed))
  await objects.remove(ids[3]!)
  const found = await findings()
  assert.deepEqual([count(found, 'chunk'), count(found, 'object'), found.length], [12, 11, 23])
})

test('what the index has lost, or never heard of, is put back from the journal', async () => {
  const ids: Address[] = []
  for (let seed = 0; seed < 12; seed += 1) ids.push(await put(seed))
  for (const [kind, at] of [
    [KIND.chunk, 0],
    [KIND.object, 5],
  ] as const) {
    const id = digestOf(ids[at]!)
    assert.ok(store.index.forget(kind, id, store.index.get(kind, id)!.place))
  }
  assert.equal(chunks.exists(ids[0]!), false)
  assert.equal(count(await findings(), 'mended'), 2)
  assert.equal(chunks.exists(ids[0]!), true)
  assert.equal((await objects.stat(ids[5]!))?.size, CHUNK_BYTES)
  assert.equal(count(await findings(), 'mended'), 0)
})

test('an entry that points to where nothing lies is counted as missing', async () => {
  for (let seed = 0; seed < 12; seed += 1) await put(seed)
  const first = store.journal.segments().find(({ number }) => number === 1)!
  const id = digestOf(addressOf(Uint8Array.of(1)))
  const place = { segment: 1, offset: first.end - 64, length: 16 }
  store.index.apply({ kind: KIND.chunk, id, flags: 0, payload: Uint8Array.of(1), lsn: 1_000, place })
  const missing = (await findings()).filter((each) => each.tag === 'missing')
  assert.deepEqual(missing, [{ tag: 'missing', segment: 1, count: 1 }])
})

test('a round goes on from where it stood', async () => {
  for (let seed = 0; seed < 12; seed += 1) await put(seed)
  const scrub = new SegmentScrub(store, chunks)
  const upToLsn = store.journal.syncedLsn
  const whole = await findings()
  for (let stop = 1; stop <= 24; stop += 1) {
    const found: ScrubFinding[] = []
    let from: Parameters<typeof scrub.read>[0]['from']
    let steps = 0
    for await (const step of scrub.read({ from, upToLsn })) {
      found.push(...step.findings)
      from = step.cursor
      steps += 1
      if (steps === stop) break
    }
    for await (const step of scrub.read({ from, upToLsn })) found.push(...step.findings)
    assert.deepEqual(found, whole, `stopped after ${stop} records`)
  }
})
