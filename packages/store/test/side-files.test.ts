import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { leaks, SeededRandom } from '@cairn/kernel/testing'
import { type Address, addressOf, equalBytes } from '@cairn/wire'
import { wrapDisk } from '../../../verify/virtual/disk/wrapped-disk.ts'
import { DriveStore, type DriveStoreOptions } from '../src/drive-store.ts'
import { KIND } from '../src/record-store.ts'
import { damageSideFile, lieInSideFile, readFile, writeFile } from './damage.ts'
import { loseSideFiles, memoryMachine, type TestMachine } from './machine.ts'

const OPTIONS: DriveStoreOptions = {
  path: 'data',
  segmentBytes: 16 * 1024,
  cacheBytes: 0,
  reserveBytes: 1024,
  leaseMs: 1_000,
  tombstoneKeepMs: 0,
}
const JOURNAL = 'data/journal'

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

async function reopen(): Promise<void> {
  await storage.close()
  storage = await DriveStore.open(machine, OPTIONS)
  await storage.caughtUp()
}

function bytesOf(number: number): Uint8Array {
  return new SeededRandom(number).bytes(900 + number)
}

function idOf(number: number): Address {
  return addressOf(bytesOf(number))
}

async function put(number: number, owners: string[] = []): Promise<void> {
  const bytes = bytesOf(number)
  const id = addressOf(bytes)
  await storage.chunks.put(id, bytes, { upload: 'u' })
  const object = { id, size: bytes.length, type: 'text/plain', chunkSize: 65_536, manifest: undefined, upload: 'u' }
  await storage.objects.commit({ ...object, owners })
}

async function isThere(number: number): Promise<boolean> {
  const facts = await storage.objects.stat(idOf(number))
  if (facts === undefined) return false
  using held = await storage.chunks.read(idOf(number))
  assert.ok(held !== undefined && equalBytes(held.bytes, bytesOf(number)), `the bytes of ${number}`)
  return true
}

/** Objects 0 to 59, every third removed again, every fifth held; in several segments. */
async function fill(): Promise<void> {
  for (let number = 0; number < 60; number += 1) await put(number, number % 5 === 0 ? ['mailbox'] : [])
  for (let number = 1; number < 60; number += 3) if (number % 5 !== 0) await storage.objects.remove(idOf(number))
}

function isExpected(number: number): boolean {
  return number % 3 !== 1 || number % 5 === 0
}

async function mustBeRight(): Promise<void> {
  for (let number = 0; number < 60; number += 1) {
    assert.equal(await isThere(number), isExpected(number), `object ${number}`)
    if (number % 5 === 0) await assert.rejects(storage.objects.remove(idOf(number)), { code: 'referenced' })
  }
  const expected = Array.from({ length: 60 }, (_, number) => number).filter(isExpected)
  const others = [100, 200, 201].map(idOf)
  const isOurs = (id: Address): boolean => !others.includes(id)
  assert.deepEqual((await storage.objects.list(undefined, 100)).filter(isOurs), expected.map(idOf).sort())
  const pages: Address[] = []
  for (let after: Address | undefined; ; after = pages.at(-1)) {
    const page = await storage.chunks.list(after, 7)
    pages.push(...page)
    if (page.length < 7) break
  }
  assert.deepEqual(pages.filter(isOurs), Array.from({ length: 60 }, (_, number) => idOf(number)).sort())
}

async function sideFiles(): Promise<string[]> {
  const names = (await machine.disk.list(JOURNAL)).map(({ name }) => name)
  return names.filter((name) => name.endsWith('.idx'))
}

test('a start after a clean stop reads side files and scans no segment', async () => {
  await fill()
  await reopen()
  const { segments, sideFiles: read, scannedDamaged, scannedMissing } = storage.facts().index
  assert.ok(segments > 3)
  assert.deepEqual({ read, scannedDamaged, scannedMissing }, { read: segments, scannedDamaged: 0, scannedMissing: 0 })
  await mustBeRight()
  // And what is written from here on is in the next ones.
  await put(100)
  await reopen()
  assert.equal(await isThere(100), true)
  assert.equal(storage.facts().index.scannedMissing, 0)
  await mustBeRight()
})

test('side files that are lost are made again, of every segment', async () => {
  await fill()
  await storage.close()
  const before = await sideFiles()
  await loseSideFiles(machine, OPTIONS.path)
  storage = await DriveStore.open(machine, OPTIONS)
  await storage.caughtUp()
  assert.equal(storage.facts().index.scannedMissing, before.length)
  await mustBeRight()
  await storage.close()
  assert.deepEqual(await sideFiles(), before)
  storage = await DriveStore.open(machine, OPTIONS)
  assert.equal(storage.facts().index.scannedMissing, 0)
})

test('what becomes of a side file while the store is closed changes no answer, and is said', async () => {
  await fill()
  const random = new SeededRandom(7)
  let damaged = 0
  for (let round = 0; round < 60; round += 1) {
    await storage.close()
    const names = await sideFiles()
    const name = names[Math.floor(random.next() * names.length)]
    assert.ok(name !== undefined)
    await damageSideFile(machine, `${JOURNAL}/${name}`, random)
    storage = await DriveStore.open(machine, OPTIONS)
    await storage.caughtUp()
    damaged += storage.facts().index.scannedDamaged
    await mustBeRight()
  }
  assert.ok(damaged > 40, `${damaged} of 60 were noticed as damage`)
})

test('a side file of an earlier time, of another segment or of another store is not believed beyond what it knows', async () => {
  await put(1_000)
  await storage.close()
  const early = await readFile(machine, `${JOURNAL}/0000000001.idx`)
  storage = await DriveStore.open(machine, OPTIONS)
  await fill()
  await storage.close()
  const second = await readFile(machine, `${JOURNAL}/0000000002.idx`)
  const other = memoryMachine()
  await (await DriveStore.open(other, OPTIONS)).close()
  const foreign = await DriveStore.open(other, OPTIONS)
  await foreign.chunks.put(idOf(1), bytesOf(1), { upload: 'u' })
  await foreign.close()
  const strange = await readFile(other, `${JOURNAL}/0000000001.idx`)
  for (const [bytes, why] of [
    [early, 'it knows what was there then, and the rest is read'],
    [second, 'another segment'],
    [strange, 'another store'],
  ] as const) {
    await writeFile(machine, `${JOURNAL}/0000000001.idx`, bytes)
    storage = await DriveStore.open(machine, OPTIONS)
    await storage.caughtUp()
    assert.equal(storage.facts().index.scannedDamaged, bytes === early ? 0 : 1, why)
    for (let number = 0; number < 60; number += 1) assert.equal(await isThere(number), isExpected(number), why)
    assert.equal(await isThere(1_000), true, why)
    await storage.close()
  }
  storage = await DriveStore.open(machine, OPTIONS)
})

test('a side file that is damaged while the store runs is made anew when it is needed', async () => {
  await fill()
  await reopen()
  const random = new SeededRandom(3)
  for (let round = 0; round < 12; round += 1) {
    const names = await sideFiles()
    const name = names[round % names.length]
    await damageSideFile(machine, `${JOURNAL}/${name}`, random)
    await mustBeRight()
  }
  await reopen()
  await mustBeRight()
})

describe('an index that is wrong, though every sum is right', () => {
  const removed = Array.from({ length: 40 }, (_, number) => number).filter((number) => number % 8 !== 0)
  const kept = Array.from({ length: 40 }, (_, number) => number).filter((number) => number % 8 === 0)

  /** What every old index could say when its file had rotted: of some objects something else than what is true. */
  async function lieAboutKept(lie: Parameters<typeof lieInSideFile>[2]): Promise<void> {
    for (let number = 0; number < 40; number += 1) await put(number)
    await storage.close()
    for (const name of await sideFiles()) {
      await lieInSideFile(machine, `${JOURNAL}/${name}`, (entry) => {
        const isKept = kept.some((number) => idOf(number) === entry.id)
        return isKept && entry.kind === KIND.chunk ? lie(entry) : entry
      })
    }
    storage = await DriveStore.open(machine, OPTIONS)
    await storage.caughtUp()
    assert.equal(storage.facts().index.scannedMissing + storage.facts().index.scannedDamaged, 0, 'the lie is believed')
  }

  async function compactAll(): Promise<number> {
    for (const number of removed) {
      await storage.objects.remove(idOf(number))
      await storage.chunks.remove(idOf(number))
    }
    let compacted = 0
    while ((await storage.compactor.compactOne()) !== undefined) compacted += 1
    return compacted
  }

  for (const [what, lie] of [
    ['a later record that is not there', (entry) => ({ ...entry, lsn: entry.lsn + 1 })],
    ['another place', (entry) => ({ ...entry, offset: entry.offset + 1_024 })],
    ['a tombstone that was never written', (entry) => ({ ...entry, lsn: entry.lsn + 1_000, flags: 1 })],
    ['nothing at all', () => undefined],
  ] as readonly (readonly [string, Parameters<typeof lieInSideFile>[2]])[]) {
    test(`compaction loses nothing when it says ${what}`, async () => {
      await lieAboutKept(lie)
      assert.ok((await compactAll()) > 0, 'something was compacted')
      await storage.close()
      await loseSideFiles(machine, OPTIONS.path)
      storage = await DriveStore.open(machine, OPTIONS)
      await storage.caughtUp()
      for (const number of kept) assert.equal(await isThere(number), true, `object ${number}`)
      for (const number of removed) assert.equal(await isThere(number), false, `object ${number}`)
    })
  }

  test('two ids that share a slot are both kept', async () => {
    const found: number[] = []
    const wanted = idOf(0).slice(0, 6)
    for (let number = 0; found.length < 2; number += 1) if (idOf(number).slice(0, 6) === wanted) found.push(number)
    for (const number of [...found, ...removed.slice(0, 20)]) await put(number)
    await storage.close()
    const { random } = machine
    // No secret: the fingerprints of all ids agree, and those of one shard are one entry.
    const next = (): number => random.next()
    const bytes: typeof random.bytes = (count) => (count > 100 ? new Uint8Array(count) : random.bytes(count))
    storage = await DriveStore.open({ ...machine, random: { next, bytes } }, OPTIONS)
    for (const number of removed.slice(0, 20)) await storage.chunks.remove(idOf(number))
    while ((await storage.compactor.compactOne()) !== undefined);
    await storage.close()
    await loseSideFiles(machine, OPTIONS.path)
    storage = await DriveStore.open(machine, OPTIONS)
    await storage.caughtUp()
    for (const number of found) {
      using held = await storage.chunks.read(idOf(number))
      assert.ok(held !== undefined && equalBytes(held.bytes, bytesOf(number)))
    }
  })
})

test('a full disk and a drive that refuses cost no write; the side files come later', async () => {
  await fill()
  await storage.close()
  await loseSideFiles(machine, OPTIONS.path)
  const refused: string[] = []
  let refuses = true
  const disk = wrapDisk(machine.disk, {
    open: async (path, options) => {
      if (!refuses || !path.endsWith('.idx.tmp')) return await machine.disk.open(path, options)
      refused.push(path)
      throw new Error('No room for this.')
    },
  })
  storage = await DriveStore.open({ ...machine, disk }, OPTIONS)
  await storage.caughtUp()
  await put(200)
  await machine.clock.settle()
  assert.deepEqual(await sideFiles(), [])
  assert.equal(refused.length, 1, 'it is not tried again and again')
  refuses = false
  await machine.clock.run(60_000)
  await put(201)
  await mustBeRight()
  assert.ok((await sideFiles()).length > 3)
})
