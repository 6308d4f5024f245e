import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { leaks } from '@cairn/kernel/testing'
import { type Address, addressFromDigest, addressOf, type Manifest, ManifestBuilder } from '@cairn/wire'
import { DriveStore, type DriveStoreOptions } from '../src/drive-store.ts'
import { readFile, writeFile } from './damage.ts'
import { loseSideFiles, memoryMachine, type TestMachine } from './machine.ts'

const CHUNK_SIZE = 16 * 1024
const LEASE_MS = 1_000
const OPTIONS: DriveStoreOptions = {
  path: 'data',
  segmentBytes: 64 * 1024,
  cacheBytes: 256 * 1024,
  leaseMs: LEASE_MS,
  tombstoneKeepMs: 0,
}

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

async function reopen({ loseIndex = false } = {}): Promise<void> {
  await storage.close()
  if (loseIndex) await loseSideFiles(machine, OPTIONS.path)
  storage = await DriveStore.open(machine, OPTIONS)
  await storage.caughtUp()
}

interface Sample {
  readonly id: Address
  readonly size: number
  readonly manifest: Manifest | undefined
  readonly chunks: readonly { id: Address; bytes: Uint8Array }[]
}

function sample(seed: number, size: number): Sample {
  const bytes = Uint8Array.from({ length: size }, (_, at) => (at * 7 + seed + (at >> 8)) & 0xff)
  const builder = new ManifestBuilder(CHUNK_SIZE)
  const chunks = []
  for (let at = 0; at < size; at += CHUNK_SIZE) {
    const slice = bytes.subarray(at, at + CHUNK_SIZE)
    chunks.push({ id: builder.add(slice), bytes: slice })
  }
  const built = builder.finish()
  return { id: built.id, size, manifest: built.kind === 'chunked' ? built.manifest : undefined, chunks }
}

async function send({ chunks }: Sample, upload: string): Promise<void> {
  for (const { id, bytes } of chunks) await storage.chunks.put(id, bytes, { upload })
}

async function commit({ id, size, manifest }: Sample, upload: string): Promise<'new' | 'present'> {
  return await storage.objects.commit({ id, size, type: 'text/plain', chunkSize: CHUNK_SIZE, manifest, upload })
}

async function store(object: Sample): Promise<void> {
  await send(object, 'u')
  assert.equal(await commit(object, 'u'), 'new')
}

async function sweepAll(): Promise<number> {
  machine.clock.advance(2 * LEASE_MS)
  let removed = 0
  for (;;) {
    const report = await storage.sweeper.sweep(4)
    removed += report.removed
    if (report.isOver) return removed
  }
}

async function isWhole({ chunks }: Sample): Promise<boolean> {
  for (const { id, bytes } of chunks) {
    using held = await storage.chunks.read(id)
    if (held === undefined || Buffer.compare(held.bytes, bytes) !== 0) return false
  }
  return true
}

test('an object is visible after its commit, with what is known of it, now and after opening anew', async () => {
  for (const size of [0, 100, CHUNK_SIZE, CHUNK_SIZE + 1, 5 * CHUNK_SIZE + 77]) {
    const object = sample(size, size)
    if (size === 0) await storage.chunks.put(object.id, new Uint8Array(0), { upload: 'u' })
    assert.equal(await storage.objects.stat(object.id), undefined)
    await store(object)
    assert.equal((await storage.objects.stat(object.id))?.size, size)
  }
  await reopen()
  const object = sample(100, 100)
  const facts = await storage.objects.stat(object.id)
  assert.deepEqual({ size: facts?.size, type: facts?.type }, { size: 100, type: 'text/plain' })
  assert.equal(await commit(object, 'u'), 'present')
})

test('a commit without all of its chunks names those that are missing and changes nothing', async () => {
  const object = sample(1, 3 * CHUNK_SIZE)
  await storage.chunks.put(object.chunks[1]!.id, object.chunks[1]!.bytes, { upload: 'u' })
  await assert.rejects(commit(object, 'u'), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'missing_chunks')
    assert.deepEqual(error.cause, [object.chunks[0]!.id, object.chunks[2]!.id])
    return true
  })
  assert.equal(await storage.objects.stat(object.id), undefined)
  await store(object)
})

test('the sweeper takes what nobody refers to and no upload keeps, and nothing else', async () => {
  const [kept, dropped, shared] = [sample(1, 2 * CHUNK_SIZE + 5), sample(2, 3 * CHUNK_SIZE), sample(9, 100)]
  await store(kept)
  await store(dropped)
  await send(shared, 'still sending')
  assert.equal(await storage.objects.remove(dropped.id), true)
  assert.equal((await storage.sweeper.sweep(100)).removed, 0, 'not within one lease time of the start')
  machine.clock.advance(LEASE_MS)
  assert.deepEqual(
    await storage.chunks.missing(
      shared.chunks.map(({ id }) => id),
      'still sending',
    ),
    [],
  )
  const report = await storage.sweeper.sweep(100)
  assert.equal(report.removed, dropped.chunks.length + 1, 'its chunks and the page that lists them')
  assert.equal(await isWhole(kept), true)
  assert.equal(await isWhole(shared), true)
  assert.equal(await sweepAll(), 1, 'the lease ran out')
  assert.equal(await isWhole(shared), false)
})

test('a chunk that two objects share goes with the last of them', async () => {
  const first = sample(1, 100)
  const builder = new ManifestBuilder(CHUNK_SIZE)
  const head = new Uint8Array(CHUNK_SIZE).fill(1)
  const chunks = [head, first.chunks[0]!.bytes].map((bytes) => ({ id: builder.add(bytes), bytes }))
  const built = builder.finish()
  assert.ok(built.kind === 'chunked')
  const second = { id: built.id, size: built.size, manifest: built.manifest, chunks }
  await store(first)
  await store(second)
  await storage.objects.remove(first.id)
  assert.equal(await sweepAll(), 0)
  assert.equal(await isWhole(second), true)
  await storage.objects.remove(second.id)
  assert.equal(await sweepAll(), 3)
})

test('a held object cannot be removed until the last owner lets go; holds survive a restart and a lost index', async () => {
  const object = sample(1, 100)
  await assert.rejects(storage.objects.hold('mailbox', object.id), { kind: 'NotFound' })
  await store(object)
  await storage.objects.hold('mailbox', object.id)
  await storage.objects.hold('mailbox', object.id)
  await storage.objects.hold('registry', object.id)
  const why = /is held by (?:mailbox, registry|registry, mailbox); release it first/
  await assert.rejects(storage.objects.remove(object.id), { code: 'referenced', message: why })
  assert.equal(await storage.objects.release('mailbox', object.id), true)
  assert.equal(await storage.objects.release('mailbox', object.id), false)
  await reopen({ loseIndex: true })
  await assert.rejects(storage.objects.remove(object.id), { code: 'referenced' })
  assert.equal(await storage.objects.release('registry', object.id), true)
  assert.equal(await storage.objects.remove(object.id), true)
  assert.equal(await storage.objects.stat(object.id), undefined)
  assert.equal(await storage.objects.remove(object.id), false)
})

async function putHeld({ id, size, manifest, ...sent }: Sample, owner: string): Promise<'new' | 'present'> {
  await send({ id, size, manifest, ...sent }, 'u')
  return await storage.objects.commit({
    id,
    size,
    type: 'text/plain',
    chunkSize: CHUNK_SIZE,
    manifest,
    upload: 'u',
    owners: [owner],
  })
}

test('an object that is put and held in one step is never there unheld; a second owner joins, and all let go', async () => {
  for (const object of [sample(1, 100), sample(2, 5 * CHUNK_SIZE)]) {
    const putting = putHeld(object, 'interop')
    const removals: Promise<unknown>[] = []
    const state = { isDone: false }
    const done = putting.finally(() => {
      state.isDone = true
    })
    // A removal at every moment of the put finds nothing, or finds it held.
    while (!state.isDone) {
      removals.push(storage.objects.remove(object.id).catch((error: unknown) => error))
      await Promise.resolve()
    }
    assert.equal(await done, 'new')
    for (const outcome of await Promise.all(removals)) {
      assert.ok(outcome === false || (outcome as { code: string }).code === 'referenced', String(outcome))
    }
    await assert.rejects(storage.objects.remove(object.id), { code: 'referenced' })
    assert.equal(await putHeld(object, 'registry'), 'present')
    assert.equal(await storage.objects.release('interop', object.id), true)
    await assert.rejects(storage.objects.remove(object.id), { code: 'referenced' })
    await reopen({ loseIndex: true })
    await assert.rejects(storage.objects.remove(object.id), { code: 'referenced' })
    assert.equal(await storage.objects.release('registry', object.id), true)
    assert.equal(await storage.objects.remove(object.id), true)
  }
  await assert.rejects(putHeld(sample(3, 100), 'not an owner'), { kind: 'Malformed' })
  assert.equal(await storage.objects.stat(sample(3, 100).id), undefined)
})

test('a hold that came with its object is let go of at once, index or not', async () => {
  const object = sample(1, 100)
  assert.equal(await putHeld(object, 'interop'), 'new')
  assert.equal(await storage.objects.release('interop', object.id), true)
  assert.equal(await storage.objects.remove(object.id), true)
})

test('an index that is lost is rebuilt whole: objects, deletions and references', async () => {
  const objects = Array.from({ length: 12 }, (_, seed) => sample(seed, 500 + seed * 3_000))
  for (const object of objects) await store(object)
  for (const object of objects.slice(0, 4)) await storage.objects.remove(object.id)
  await sweepAll()
  while ((await storage.compactor.compactOne()) !== undefined);
  await reopen({ loseIndex: true })
  for (const [at, object] of objects.entries()) {
    assert.equal((await storage.objects.stat(object.id)) !== undefined, at >= 4)
    assert.equal(await isWhole(object), at >= 4)
  }
  assert.equal(await sweepAll(), 0, 'everything that is left is referred to')
  assert.deepEqual(
    await storage.objects.list(undefined, 100),
    objects
      .slice(4)
      .map(({ id }) => id)
      .sort(),
  )
})

test('while a lost index is rebuilt, only what nothing unread can deny is answered', async () => {
  const [removed, kept, late] = [sample(1, 100), sample(2, 100), sample(3, 100)]
  await store(removed)
  await store(kept)
  for (let seed = 0; seed < 8; seed += 1) await send(sample(50 + seed, CHUNK_SIZE), 'u')
  await storage.objects.remove(removed.id)
  await storage.close()
  await loseSideFiles(machine, OPTIONS.path)
  storage = await DriveStore.open(machine, OPTIONS)
  assert.equal(storage.facts().isCatchingUp, true)
  assert.equal(await storage.objects.stat(removed.id), undefined, 'its tombstone is newer than what is not read yet')
  const rebuilding = { kind: 'StorageBusy', code: 'rebuilding' }
  await assert.rejects(storage.objects.stat(kept.id), rebuilding)
  await assert.rejects(storage.objects.stat(late.id), rebuilding)
  await assert.rejects(storage.objects.remove(kept.id), rebuilding)
  await storage.caughtUp()
  assert.equal(await isWhole(kept), true)
  assert.equal(await storage.objects.stat(late.id), undefined)
  assert.equal(storage.facts().isCatchingUp, false)
})

test('a reader keeps its segment until it is done, and a compacted chunk is found where it moved', async () => {
  const kept = sample(1, 200)
  await store(kept)
  const dead = Array.from({ length: 12 }, (_, seed) => sample(100 + seed, CHUNK_SIZE))
  for (const object of dead) await send(object, 'u')
  for (const { chunks } of dead) await storage.chunks.remove(chunks[0]!.id)
  const reading = storage.chunks.read(kept.id)
  const report = await storage.compactor.compactOne()
  assert.ok(report !== undefined && report.freedBytes > 0)
  using held = await reading
  assert.deepEqual(held?.bytes, kept.chunks[0]!.bytes)
  assert.equal(await isWhole(kept), true)
  await reopen({ loseIndex: true })
  assert.equal(await isWhole(kept), true)
})

test('damaged bytes are never handed out, do not count as there, and are healed by putting them again', async () => {
  const { id, bytes } = sample(1, 5_000).chunks[0]!
  storage.chunks.close()
  await storage.chunks.put(id, bytes, { upload: 'u' })
  const file = await machine.disk.open('data/journal/0000000001.seg', { mode: 'append' })
  const whole = new Uint8Array(await file.size())
  await file.read(0, whole)
  whole[1_000] = whole[1_000]! ^ 1
  await file.truncate(0)
  await file.append([whole])
  await file.close()
  await assert.rejects(storage.chunks.read(id), { kind: 'Integrity' })
  await assert.rejects(storage.chunks.read(id), { kind: 'Integrity' })
  assert.deepEqual(await storage.chunks.missing([id], 'u'), [id])
  assert.equal(await storage.chunks.put(id, bytes, { upload: 'u' }), 'new')
  using held = await storage.chunks.read(id)
  assert.deepEqual(held?.bytes, bytes)
})

test('a delete whose record is damaged stays one, is listed, and is written anew when it is asked for again', async () => {
  const object = sample(1, 2 * CHUNK_SIZE)
  await store(object)
  await storage.copies.remove(object.id, { version: 5, isAgreed: true })
  const segments = (await machine.disk.list('data/journal')).filter(({ name }) => name.endsWith('.seg'))
  const name = `data/journal/${segments.at(-1)?.name ?? ''}`
  const bytes = await readFile(machine, name)
  // The last thing in a tombstone is its version.
  const at = bytes.findLastIndex((byte) => byte !== 0)
  bytes[at] = bytes[at]! ^ 1
  await storage.close()
  await writeFile(machine, name, bytes)
  storage = await DriveStore.open(machine, OPTIONS)
  const lowest = { tag: 'tombstone', version: 0 } as const
  assert.deepEqual(await storage.copies.page(undefined, 10), [{ id: object.id, known: lowest }])
  assert.deepEqual(await storage.copies.known(object.id), lowest)
  await storage.copies.remove(object.id, { version: 5, isAgreed: true })
  assert.deepEqual(await storage.copies.known(object.id), { tag: 'tombstone', version: 5 })
  await reopen()
  assert.deepEqual(await storage.copies.known(object.id), { tag: 'tombstone', version: 5 })
})

test('an object whose record is damaged is whole once it is put again', async () => {
  for (const [round, put] of [
    async (object: Sample) => await commit(object, 'v'),
    async ({ id, size, manifest }: Sample) =>
      await storage.copies.commit({ id, size, type: '', chunkSize: CHUNK_SIZE, manifest, upload: 'v', version: 3 }),
  ].entries()) {
    const object = sample(1 + round, 2 * CHUNK_SIZE)
    await store(object)
    const segments = (await machine.disk.list('data/journal')).filter(({ name }) => name.endsWith('.seg'))
    const name = `data/journal/${segments.at(-1)?.name ?? ''}`
    const bytes = await readFile(machine, name)
    // The record of an object is the last that a commit writes; the end of it is its list of pages.
    const at = bytes.findLastIndex((byte) => byte !== 0) - 4
    bytes[at] = bytes[at]! ^ 1
    await storage.close()
    await writeFile(machine, name, bytes)
    storage = await DriveStore.open(machine, OPTIONS)
    await assert.rejects(storage.objects.stat(object.id), { kind: 'Integrity' })
    await send(object, 'v')
    await put(object)
    assert.equal((await storage.objects.stat(object.id))?.size, object.size)
    assert.equal(await isWhole(object), true)
    await reopen()
    assert.equal((await storage.objects.stat(object.id))?.size, object.size)
  }
})

test('an object that has lost a page of its list is whole once it is put again, and stays so', async () => {
  const object = sample(1, 2 * CHUNK_SIZE)
  const { id, size, manifest } = object
  for (const again of [
    async () => await commit(object, 'v'),
    async () =>
      await storage.copies.commit({ id, size, type: '', chunkSize: CHUNK_SIZE, manifest, upload: 'v', version: 0 }),
  ]) {
    await send(object, 'u')
    await commit(object, 'u')
    const page = addressFromDigest((await storage.objects.stat(id))!.pages)
    assert.equal(await storage.chunks.remove(page), true)
    assert.equal(await again(), 'present')
    assert.equal(storage.chunks.exists(page), true)
    assert.equal(await sweepAll(), 0)
  }
})

test('a put joins the removal under way behind it: what it says is there stays there', async () => {
  const { id, bytes } = sample(1, 500).chunks[0]!
  await storage.chunks.put(id, bytes, { upload: 'u' })
  const removal = storage.chunks.remove(id)
  assert.equal(storage.chunks.exists(id), false, 'about to go')
  const put = storage.chunks.put(id, bytes, { upload: 'u' })
  assert.equal(await removal, true)
  assert.equal(await put, 'new')
  using held = await storage.chunks.read(id)
  assert.deepEqual(held?.bytes, bytes)
  assert.equal(addressOf(bytes), id)
})

test('a chunk that is being written is not present yet: whoever puts it as well waits for the same write', async () => {
  const { id, bytes } = sample(1, 500).chunks[0]!
  const first = storage.chunks.put(id, bytes, { upload: 'u' })
  assert.notEqual(storage.chunks.submit(id, bytes, 'v'), 'present')
  assert.equal(await first, 'new')
  assert.equal(storage.chunks.submit(id, bytes, 'v'), 'present')
})

test('a chunk that was removed while it was read is not read again', async () => {
  const { id, bytes } = sample(1, 5_000).chunks[0]!
  await storage.chunks.put(id, bytes, { upload: 'u' })
  // What is read twice is kept in memory.
  ;(await storage.chunks.read(id))?.[Symbol.dispose]()
  const reading = storage.chunks.read(id)
  const removal = storage.chunks.remove(id)
  ;(await reading)?.[Symbol.dispose]()
  assert.equal(await removal, true)
  assert.equal(await storage.chunks.read(id), undefined)
})
