import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import { addressOf } from '@cairn/wire'
import { DriveStore } from '../src/drive-store.ts'
import { readFile } from './damage.ts'
import { loseSideFiles, memoryMachine, type TestMachine } from './machine.ts'

const OPTIONS = { path: 'data', segmentBytes: 64 * 1024, cacheBytes: 64 * 1024 }
const BYTES = Uint8Array.from({ length: 700 }, (_, at) => at & 0xff)
const ID = addressOf(BYTES)

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

async function put(version: number, owners: readonly string[] = []): Promise<'new' | 'present'> {
  await storage.chunks.put(ID, BYTES, { upload: 'u' })
  const object = { id: ID, size: BYTES.length, type: 'text/plain', chunkSize: 65_536, manifest: undefined, upload: 'u' }
  return await storage.copies.commit({ ...object, version, owners })
}

async function remove(version: number, isAgreed = false): Promise<void> {
  await storage.copies.remove(ID, { version, isAgreed })
}

async function known(): Promise<string> {
  const { tag, ...facts } = await storage.copies.known(ID)
  return 'version' in facts ? `${tag} ${facts.version}` : tag
}

test('the newest version wins, whatever the order of arrival; a put as new as a delete wins', async () => {
  assert.equal(await known(), 'absent')
  assert.equal(await put(3), 'new')
  assert.equal(await put(2), 'present')
  assert.equal(await known(), 'object 3')
  await assert.rejects(remove(2), { code: 'newer_version', cause: 3 })
  await assert.rejects(remove(3), { code: 'newer_version', cause: 3 })
  await remove(5)
  await remove(4)
  assert.equal(await known(), 'tombstone 5')
  await assert.rejects(put(4), { code: 'newer_version', cause: 5 })
  assert.equal(await storage.objects.stat(ID), undefined)
  assert.equal(await put(5), 'new')
  assert.equal(await put(9), 'present')
  assert.equal(await known(), 'object 9')
})

test('a delete is remembered where there is no copy, over restarts and a lost index', async () => {
  await remove(7)
  await storage.close()
  await loseSideFiles(machine, OPTIONS.path)
  storage = await DriveStore.open(machine, OPTIONS)
  await storage.caughtUp()
  assert.equal(await known(), 'tombstone 7')
  assert.deepEqual(await storage.copies.page(undefined, 10), [{ id: ID, known: { tag: 'tombstone', version: 7 } }])
})

test('an object that is put again can be read all the while', async () => {
  await put(1)
  const renewing = put(2)
  const state = { isDone: false }
  const done = renewing.finally(() => {
    state.isDone = true
  })
  while (!state.isDone) {
    assert.notEqual(await storage.objects.stat(ID), undefined)
    await Promise.resolve()
  }
  await done
})

test('what is held is refused, unless the delete was agreed on elsewhere; then its holds go too', async () => {
  await put(1, ['mailbox', 'registry'])
  assert.deepEqual((await storage.objects.holds.owners(ID)).sort(), ['mailbox', 'registry'])
  await assert.rejects(remove(2), { code: 'referenced' })
  await remove(2, true)
  assert.equal(await known(), 'tombstone 2')
  assert.deepEqual(await storage.objects.holds.owners(ID), [])
  assert.equal(await put(3), 'new')
  await remove(4)
  assert.equal(await known(), 'tombstone 4')
})

test('what is going is not known as an object any more', async () => {
  await put(1)
  await storage.objects.stat(ID)
  const removing = remove(2)
  while (storage.objects.statRecent(ID) !== undefined) await Promise.resolve()
  assert.equal(await storage.objects.stat(ID), undefined)
  assert.equal(await known(), 'tombstone 2')
  await removing
})

test('who comes to hold a copy while it is let go of does not hold the next one', async () => {
  for (let steps = 0; steps < 60; steps += 1) {
    await put(2 * steps + 1)
    const dropped = storage.copies.drop(ID, 2 * steps + 1)
    for (let step = 0; step < steps; step += 1) await Promise.resolve()
    const held = storage.objects.hold('mailbox', ID).catch((error: unknown) => assert.ok(isKind(error, 'NotFound')))
    await Promise.all([dropped, held])
    await put(2 * steps + 2)
    assert.deepEqual(await storage.objects.holds.owners(ID), [], `after ${steps} steps`)
    await storage.copies.drop(ID, 2 * steps + 2)
  }
})

test('of a put and a delete at the same time the newer one is left', async () => {
  for (let round = 0; round < 20; round += 1) {
    const [low, high] = [round * 2 + 1, round * 2 + 2]
    const isPutNewer = round % 2 === 0
    await Promise.allSettled([put(isPutNewer ? high : low), remove(isPutNewer ? low : high)])
    assert.equal(await known(), isPutNewer ? `object ${high}` : `tombstone ${high}`)
  }
})

/** Rots the end of the record that was written last, under the open store. */
async function rotLast(): Promise<void> {
  const path = 'data/journal/0000000001.seg'
  const bytes = await readFile(machine, path)
  const at = bytes.findLastIndex((byte) => byte !== 0)
  bytes[at] = bytes[at]! ^ 1
  await using file = await machine.disk.open(path, { mode: 'append' })
  await file.truncate(0)
  await file.append([bytes])
}

test('a record that rots after it was read is taken for a copy until it is read again, and is put anew', async () => {
  await put(3)
  assert.equal(await known(), 'object 3')
  await storage.close()
  storage = await DriveStore.open(machine, OPTIONS)
  assert.equal(await known(), 'object 3')
  await rotLast()
  await assert.rejects(storage.objects.stat(ID), { code: 'record_damaged' })
  assert.deepEqual(await storage.copies.known(ID), { tag: 'absent', isDamaged: true })
  assert.deepEqual(await storage.copies.page(undefined, 10), [])
  assert.equal(await put(3), 'present')
  assert.equal(await known(), 'object 3')
  assert.equal((await storage.objects.stat(ID))?.size, BYTES.length)
})

test('a put over a record that rotted since it was read writes it anew', async () => {
  await put(3)
  await storage.close()
  storage = await DriveStore.open(machine, OPTIONS)
  assert.equal(await known(), 'object 3')
  await rotLast()
  assert.equal(await put(4), 'present')
  assert.equal(await known(), 'object 4')
})

test('what a scrub finds damaged is no copy, whatever is remembered of it', async () => {
  await put(3)
  assert.equal(await known(), 'object 3')
  assert.equal((await storage.objects.stat(ID))?.version, 3)
  await rotLast()
  for await (const _ of storage.scrub.read({ from: undefined, upToLsn: storage.facts().syncedLsn })) continue
  assert.deepEqual(await storage.copies.known(ID), { tag: 'absent', isDamaged: true })
  await put(3)
  assert.equal(await known(), 'object 3')
})

test('a delete whose record rotted is one of the lowest version, and the object can be put again', async () => {
  await put(3)
  await remove(5)
  await rotLast()
  assert.equal(await known(), 'tombstone 0')
  assert.deepEqual(await storage.copies.page(undefined, 10), [{ id: ID, known: { tag: 'tombstone', version: 0 } }])
  assert.equal(await storage.objects.stat(ID), undefined)
  assert.equal(await put(4), 'new')
  assert.equal(await known(), 'object 4')
})
