import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { leaks, virtualRuntime } from '@cairn/kernel/testing'
import { MemoryDisk, systemCrypto } from '@cairn/platform'
import type { JournalMachine } from '../drive/drive.ts'
import { RECORD_HEADER_BYTES, SEGMENT_HEADER_BYTES, TOMBSTONE } from './format.ts'
import { Journal, type JournalOptions } from './journal.ts'
import { type Draft, type PlacedRecord, segmentName } from './segment.ts'

const MEBIBYTE = 1024 * 1024

function machineOf(capacityBytes = 64 * MEBIBYTE): JournalMachine & { disk: MemoryDisk } {
  const runtime = virtualRuntime()
  return { ...runtime, disk: new MemoryDisk(runtime, capacityBytes), crypto: systemCrypto }
}

function draft(name: number, payloadBytes = 100, flags = 0): Draft {
  return { kind: 1, flags, id: new Uint8Array(32).fill(name), payload: new Uint8Array(payloadBytes).fill(name) }
}

const SMALL: JournalOptions = { path: 'j', sink: () => undefined, segmentBytes: 4096, reserveBytes: 8192 }

async function names(journal: Journal): Promise<number[]> {
  const found: number[] = []
  for await (const event of journal.replay()) {
    if (event.tag === 'record') found.push(event.id[0]!)
    else found.push(-1)
  }
  return found
}

/** As after a power cut that took all that was unsynced. */
async function loseNotes(machine: JournalMachine): Promise<void> {
  for (const { name } of await machine.disk.list('j')) {
    if (name.startsWith('synced.')) await machine.disk.unlink(`j/${name}`)
  }
}

async function overwrite(machine: JournalMachine, name: string, at: number, bytes: Uint8Array): Promise<void> {
  const file = await machine.disk.open(`j/${name}`, { mode: 'append' })
  const whole = new Uint8Array(await file.size())
  await file.read(0, whole)
  whole.set(bytes, at)
  await file.truncate(0)
  await file.append([whole])
  await file.close()
}

test('what was acknowledged is read back, and is there again after opening it anew', async () => {
  const machine = machineOf()
  const sunk: PlacedRecord[] = []
  const journal = await Journal.open(machine, { ...SMALL, sink: (records) => sunk.push(...records) })
  const [first, second] = [journal.submit([draft(1), draft(2, 0)]), journal.submit([draft(3, 1001, TOMBSTONE)])]
  const records = [...(await first.durable()), ...(await second.durable())]
  assert.deepEqual(
    records.map(({ lsn }) => lsn),
    [1, 2, 3],
  )
  assert.deepEqual(sunk, records)
  for (const record of records) {
    const { payload, id, flags, lsn } = await journal.read(record.place)
    assert.deepEqual(
      { payload, id, flags, lsn },
      { payload: record.payload, id: record.id, flags: record.flags, lsn: record.lsn },
    )
  }
  await journal.close()
  const again = await Journal.open(machine, SMALL)
  assert.deepEqual(await names(again), [1, 2, 3])
  assert.equal((await again.submit([draft(4)]).durable())[0]!.lsn, 4)
  await again.close()
  assert.deepEqual(leaks(machine), [])
})

test('writers who come together share one write and one sync', async () => {
  const machine = machineOf()
  const calls: string[] = []
  const { disk } = machine
  const open = disk.open.bind(disk)
  disk.open = async (path, options) => {
    const file = await open(path, options)
    if (!path.endsWith('.seg')) return file
    const [append, sync] = [file.append.bind(file), file.sync.bind(file)]
    file.append = async (buffers) => (calls.push('append'), await append(buffers))
    file.sync = async () => (calls.push('sync'), await sync())
    return file
  }
  const journal = await Journal.open(machine, SMALL)
  calls.length = 0
  const all = Array.from({ length: 20 }, (_, at) => journal.submit([draft(at)]))
  await Promise.all(all.map(async (each) => await each.durable()))
  // The first is on its way before the others come; they are the second group.
  assert.deepEqual(calls, ['append', 'sync', 'append', 'sync'])
  await journal.close()
})

test('lazy records are written without a sync until somebody asks', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  const lazy = journal.submit([draft(1)], { lazy: true })
  await lazy.written()
  assert.equal(journal.syncedLsn, 0)
  await lazy.durable()
  assert.equal(journal.syncedLsn, 1)
  await journal.close()
})

test('a full segment is followed by a new one that says where it ended', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  for (let name = 0; name < 20; name += 1) await journal.submit([draft(name, 900)]).durable()
  const segments = journal.segments()
  assert.equal(segments.length, 5)
  for (const [at, segment] of segments.entries()) {
    assert.equal(segment.header.previous, segments[at - 1]?.number ?? 0)
    assert.equal(segment.header.previousEnd, segments[at - 1]?.end ?? 0)
  }
  await journal.close()
  const again = await Journal.open(machine, SMALL)
  assert.deepEqual(
    await names(again),
    Array.from({ length: 20 }, (_, name) => name),
  )
  await again.close()
})

test('a torn end is cut from its first bad record, and the journal goes on there', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  await journal.submit([draft(1)]).durable()
  const [second, third] = await journal.submit([draft(2), draft(3)]).durable()
  await journal.close()
  // Both were one group: the second is bad, the third is sound, and nothing knows that either was synced.
  await loseNotes(machine)
  await overwrite(machine, segmentName(1), second!.place.offset + RECORD_HEADER_BYTES, new Uint8Array([9]))
  const again = await Journal.open(machine, SMALL)
  assert.deepEqual(await names(again), [1])
  assert.deepEqual(again.cut, { segment: 1, from: second!.place.offset, to: 656, firstLsn: 2, lastLsn: 3 })
  const [fourth] = await again.submit([draft(4)]).durable()
  assert.equal(fourth!.place.offset, second!.place.offset)
  assert.ok(fourth!.lsn > third!.lsn, 'an LSN that was ever on disk is not used again')
  await again.close()
})

test('what was bad before something synced after it is damage: kept, reported, never cut', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  const [first] = await journal.submit([draft(1)]).durable()
  await journal.submit([draft(2)]).durable()
  await journal.close()
  await loseNotes(machine)
  await overwrite(machine, segmentName(1), first!.place.offset, new Uint8Array([0]))
  const again = await Journal.open(machine, SMALL)
  assert.deepEqual(await names(again), [-1, 2])
  assert.notEqual(again.activeNumber, 1, 'a damaged segment takes no more')
  assert.equal(again.segments()[0]!.damage.length, 1)
  await again.submit([draft(3)]).durable()
  await again.close()
  const third = await Journal.open(machine, SMALL)
  assert.deepEqual(await names(third), [-1, 2, 3])
  await third.close()
})

test('below the watermark of the index nothing is cut', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  const [only] = await journal.submit([draft(1)]).durable()
  await journal.close()
  await loseNotes(machine)
  await overwrite(machine, segmentName(1), only!.place.offset, new Uint8Array([0]))
  const watermark = { segment: 1, offset: only!.place.offset + 176, lsn: 1 }
  const again = await Journal.open(machine, { ...SMALL, watermark })
  assert.deepEqual(await names(again), [-1])
  await again.close()
  const file = await machine.disk.open(`j/${segmentName(1)}`, { mode: 'append' })
  await file.truncate(only!.place.offset)
  await file.close()
  const third = await Journal.open(machine, { ...SMALL, watermark })
  assert.notEqual(third.activeNumber, 1, 'a segment that lost what was durable takes no more')
  assert.equal((await third.submit([draft(2)]).durable())[0]!.lsn, 2)
  await third.close()
})

test('a segment whose creation was cut short is taken away; one that lost its header is kept', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  await journal.submit([draft(1)]).durable()
  await journal.close()
  const stray = await machine.disk.open(`j/${segmentName(2)}`, { mode: 'create' })
  await stray.append([new Uint8Array(SEGMENT_HEADER_BYTES - 1)])
  await stray.close()
  const again = await Journal.open(machine, SMALL)
  assert.deepEqual(
    (await machine.disk.list('j')).map(({ name }) => name),
    [segmentName(1), 'synced.0'],
  )
  await again.submit([draft(2)]).durable()
  await again.close()
  await overwrite(machine, segmentName(1), 3, new Uint8Array([0]))
  const third = await Journal.open(machine, SMALL)
  assert.deepEqual(third.unreadable, [1])
  const [fresh] = await third.submit([draft(3)]).durable()
  assert.ok(fresh!.lsn > 2, 'it may hold LSNs nobody can read')
  await third.close()
})

test('a payload that looks like a record is not one', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  const [inner] = await journal.submit([draft(1)]).durable()
  const file = await machine.disk.open(`j/${segmentName(1)}`, { mode: 'read' })
  const copy = new Uint8Array(176)
  await file.read(inner!.place.offset, copy)
  await file.close()
  const [outer] = await journal.submit([{ ...draft(2), payload: copy }]).durable()
  await journal.submit([draft(3)]).durable()
  await journal.close()
  await overwrite(machine, segmentName(1), outer!.place.offset, new Uint8Array(RECORD_HEADER_BYTES))
  const again = await Journal.open(machine, SMALL)
  assert.deepEqual(await names(again), [1, -1, 3])
  await again.close()
})

test('with only the reserve left data is refused with 507 and a tombstone still fits', async () => {
  const machine = machineOf(12 * 1024)
  const journal = await Journal.open(machine, SMALL)
  const data = Array.from({ length: 6 }, (_, name) => journal.submit([draft(name, 600)]))
  const outcomes = await Promise.allSettled(data.map(async (each) => await each.durable()))
  assert.ok(outcomes.some(({ status }) => status === 'rejected'))
  await assert.rejects(journal.submit([draft(9, 3000)]).durable(), { code: 'no_space', status: 507 })
  assert.equal(journal.unready, undefined)
  await journal.submit([draft(7, 0, TOMBSTONE)], { freesSpace: true }).durable()
  await journal.close()
})

test('more than fits one segment is refused, and so is anything after close', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  assert.throws(
    () => journal.submit([draft(1, 5000)]),
    (error) => isKind(error, 'TooLarge'),
  )
  await journal.close()
  const large = await Journal.open(machine, { path: 'large', sink: () => undefined })
  assert.throws(
    () => large.submit([draft(1, 4 * MEBIBYTE + 1)]),
    (error) => isKind(error, 'TooLarge'),
  )
  await large.close()
  assert.throws(
    () => journal.submit([draft(1)]),
    (error) => isKind(error, 'Canceled'),
  )
  assert.deepEqual(leaks(machine), [])
})
