import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks, type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import { MemoryDisk, systemCrypto } from '@cairn/platform'
import type { JournalMachine } from '../drive/drive.ts'
import { TOMBSTONE } from './format.ts'
import { Journal, type JournalOptions } from './journal.ts'
import type { Draft } from './segment.ts'

const KIB = 1024
const MIB = 1024 * KIB
const CAPACITY = 32 * MIB
const RESERVE = 8 * MIB
const OPTIONS: JournalOptions = {
  path: 'j',
  sink: () => undefined,
  segmentBytes: 64 * KIB,
  reserveBytes: RESERVE,
  holdsReserve: true,
}
const FILLED_MS = 20_000

type Machine = JournalMachine & VirtualRuntime & { readonly disk: MemoryDisk }

/** A drive that another program uses too. */
function machineOf(): Machine {
  const runtime = virtualRuntime()
  const disk = new MemoryDisk(runtime, CAPACITY)
  const space = disk.space.bind(disk)
  disk.space = async () => ({ ...(await space()), device: 'shared' })
  return { ...runtime, disk, crypto: systemCrypto }
}

/** Takes all that is free, but for `leftBytes`. */
async function fillUp({ disk }: Machine, leftBytes = 0): Promise<void> {
  const { freeBytes } = await disk.space()
  await using file = await disk.open('other', { mode: 'append' })
  if (freeBytes > leftBytes) await file.append([new Uint8Array(freeBytes - leftBytes)])
}

function draft(name: number, payloadBytes: number, flags = 0): Draft {
  return { kind: 1, flags, id: new Uint8Array(32).fill(name), payload: new Uint8Array(payloadBytes).fill(name) }
}

async function remove(journal: Journal, name: number): Promise<void> {
  await journal.submit([draft(name, 8, TOMBSTONE)], { freesSpace: true }).durable()
}

test('the reserve is filled in the background, not at the start, and found again', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, OPTIONS)
  await machine.clock.settle()
  assert.equal(journal.reserve.heldBytes, 0)
  await machine.clock.run(FILLED_MS)
  assert.deepEqual(journal.reserve, { wantedBytes: RESERVE, heldBytes: RESERVE, leftAloneBytes: MIB })
  await journal.close()
  assert.ok((await machine.disk.space()).freeBytes < CAPACITY - RESERVE)
  const smaller = await Journal.open(machine, { ...OPTIONS, reserveBytes: 3 * MIB })
  assert.equal(smaller.reserve.heldBytes, 3 * MIB)
  await smaller.close()
  const without = await Journal.open(machine, { ...OPTIONS, holdsReserve: false })
  assert.equal(without.reserve.heldBytes, 0)
  assert.deepEqual(
    (await machine.disk.list('j')).map(({ name }) => name),
    ['0000000001.seg'],
  )
  await without.close()
  assert.deepEqual(leaks(machine), [])
})

test('on a drive that is too small it is as much as fits', async () => {
  const machine = machineOf()
  await fillUp(machine, 5 * MIB)
  const journal = await Journal.open(machine, OPTIONS)
  await machine.clock.run(FILLED_MS)
  const { heldBytes } = journal.reserve
  assert.ok(heldBytes >= 2 * MIB && heldBytes <= 3 * MIB, `${heldBytes}`)
  assert.equal(
    machine.log.lines.some(({ level }) => level === 'error'),
    false,
  )
  await journal.close()
  assert.deepEqual(leaks(machine), [])
})

test('another program takes the last byte: data is refused, deletes work, and the reserve is completed again later', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, OPTIONS)
  await journal.submit([draft(1, 1000)]).durable()
  await machine.clock.run(FILLED_MS)
  for (let round = 0; round < 3; round += 1) {
    await fillUp(machine)
    await assert.rejects(journal.submit([draft(2, 1000)]).durable(), { status: 507 })
    // The first put met the end of the drive, and a new segment is being made.
    await machine.clock.settle()
    for (let name = 0; name < 50; name += 1) await remove(journal, name)
    assert.equal(journal.unready, undefined)
  }
  assert.ok(journal.reserve.heldBytes < RESERVE)
  await journal.makeRoom(2 * MIB)
  assert.ok((await machine.disk.space()).freeBytes >= 2 * MIB, 'a compaction has room')
  await machine.disk.unlink('other')
  await machine.clock.run(120_000)
  assert.equal(journal.reserve.heldBytes, RESERVE)
  await journal.submit([draft(3, 1000)]).durable()
  await journal.close()
  assert.deepEqual(leaks(machine), [])
})

test('on a full drive a journal opens, is read, and takes deletes out of the reserve', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, OPTIONS)
  const [kept] = await journal.submit([draft(1, 1000)]).durable()
  await machine.clock.run(FILLED_MS)
  await journal.close()
  await fillUp(machine)
  const full = await Journal.open(machine, OPTIONS)
  assert.equal((await full.read(kept!.place)).length, 1000)
  await assert.rejects(full.submit([draft(2, 1000)]).durable(), { status: 507 })
  await remove(full, 1)
  await full.close()
  assert.deepEqual(leaks(machine), [])
})

test('where not even a segment can be made it opens for readers, and writes once there is room', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, { ...OPTIONS, segmentBytes: 4 * KIB, holdsReserve: false })
  const [kept] = await journal.submit([draft(1, 1000)]).durable()
  await journal.close()
  // The end of the log is lost, so a new segment must begin.
  const file = await machine.disk.open('j/0000000001.seg', { mode: 'append' })
  await file.truncate(kept!.place.offset + 1080)
  await file.close()
  const other = await Journal.open(machine, OPTIONS)
  await other.submit([draft(2, 1000)]).durable()
  await other.close()
  const cut = await machine.disk.open('j/0000000001.seg', { mode: 'append' })
  await cut.truncate(kept!.place.offset + 1080)
  await cut.close()
  await fillUp(machine)
  const full = await Journal.open(machine, OPTIONS)
  assert.notEqual(full.unready, undefined)
  assert.throws(() => full.submit([draft(3, 10)]), { status: 507 })
  assert.equal((await full.read(kept!.place)).length, 1000)
  await machine.clock.run(6_000)
  assert.notEqual(full.unready, undefined)
  await machine.disk.unlink('other')
  await machine.clock.run(6_000)
  assert.equal(full.unready, undefined)
  await full.submit([draft(3, 10)]).durable()
  await full.close()
  const waiting = machineOf()
  await fillUp(waiting)
  await waiting.disk.makeDirectory('j')
  await assert.rejects(Journal.open(waiting, OPTIONS), { status: 507 }, 'there is nothing to read')
  assert.deepEqual(leaks(machine), [])
  assert.deepEqual(leaks(waiting), [])
})
