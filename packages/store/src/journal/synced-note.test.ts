import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks, type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import { type Disk, MemoryDisk, systemCrypto } from '@cairn/platform'
import type { JournalMachine } from '../drive/drive.ts'
import { encodeSegmentHeader, RECORD_HEADER_BYTES, RecordSums, SEGMENT_HEADER_BYTES } from './format.ts'
import { Journal, type JournalOptions } from './journal.ts'
import { type Draft, segmentName } from './segment.ts'
import { encodeNote, NOTE_BYTES, NOTES_PER_FILE } from './synced-note-core.ts'

const SMALL: JournalOptions = { path: 'j', sink: () => undefined, segmentBytes: 4096, reserveBytes: 8192 }
const { crc32 } = systemCrypto

type Machine = JournalMachine & VirtualRuntime

function machineOf(): Machine {
  const runtime = virtualRuntime()
  return { ...runtime, disk: new MemoryDisk(runtime, 64 * 1024 * 1024), crypto: systemCrypto }
}

function draft(name: number, payloadBytes = 100): Draft {
  return { kind: 1, flags: 0, id: new Uint8Array(32).fill(name), payload: new Uint8Array(payloadBytes).fill(name) }
}

async function bytesOf(disk: Disk, name: string): Promise<Uint8Array> {
  await using file = await disk.open(`j/${name}`, { mode: 'read' })
  const bytes = new Uint8Array(await file.size())
  await file.read(0, bytes)
  return bytes
}

async function write(disk: Disk, name: string, bytes: Uint8Array): Promise<void> {
  await using file = await disk.open(`j/${name}`, { mode: 'append' })
  await file.truncate(0)
  await file.append([bytes])
}

async function spoil(disk: Disk, name: string, at: number): Promise<void> {
  const bytes = await bytesOf(disk, name)
  bytes[at] = bytes[at]! ^ 1
  await write(disk, name, bytes)
}

async function names(journal: Journal): Promise<number[]> {
  const found: number[] = []
  for await (const event of journal.replay()) found.push(event.tag === 'record' ? event.id[0]! : -1)
  return found
}

/** A journal with one group after the other, closed. Returns where each record lies. */
async function written(machine: JournalMachine, count: number, payloadBytes = 100): Promise<number[]> {
  const journal = await Journal.open(machine, SMALL)
  const offsets: number[] = []
  for (let name = 1; name <= count; name += 1) {
    const [record] = await journal.submit([draft(name, payloadBytes)]).durable()
    offsets.push(record!.place.offset)
  }
  await journal.close()
  return offsets
}

test('the last acknowledged group, gone bad, is damage and not a torn end', async () => {
  const machine = machineOf()
  const offsets = await written(machine, 3)
  await spoil(machine.disk, segmentName(1), offsets[2]! + RECORD_HEADER_BYTES)
  const journal = await Journal.open(machine, SMALL)
  assert.equal(journal.cut, undefined)
  assert.deepEqual(await names(journal), [1, 2, -1])
  await journal.submit([draft(4)]).durable()
  await journal.close()
  const again = await Journal.open(machine, SMALL)
  assert.deepEqual(await names(again), [1, 2, -1, 4])
  await again.close()
  assert.deepEqual(leaks(machine), [])
})

test('an end that was cut off below the note is damage, at this opening and at every later one', async () => {
  const machine = machineOf()
  const offsets = await written(machine, 3)
  const bytes = await bytesOf(machine.disk, segmentName(1))
  await write(machine.disk, segmentName(1), bytes.subarray(0, offsets[2]))
  for (const expected of [
    [1, 2, -1],
    [1, 2, -1, 4],
  ]) {
    const journal = await Journal.open(machine, SMALL)
    assert.deepEqual(await names(journal), expected)
    assert.notEqual(journal.activeNumber, 1)
    assert.deepEqual(journal.segments()[0]!.damage, [{ from: offsets[2], to: bytes.length }])
    if (expected.length === 3) assert.equal((await journal.submit([draft(4)]).durable())[0]!.lsn, 4)
    await journal.close()
  }
})

test('a segment that the note knows and that is gone is reported until something new is acknowledged', async () => {
  const machine = machineOf()
  const offsets = await written(machine, 3, 1800)
  assert.equal(offsets.length, 3)
  await machine.disk.unlink(`j/${segmentName(2)}`)
  for (let life = 0; life < 2; life += 1) {
    const journal = await Journal.open(machine, SMALL)
    assert.deepEqual(journal.unreadable, [2])
    assert.deepEqual(await names(journal), [1, 2])
    await journal.close()
  }
  const journal = await Journal.open(machine, SMALL)
  const [fresh] = await journal.submit([draft(9)]).durable()
  assert.ok(fresh!.lsn > 3 && fresh!.place.segment > 2, 'its numbers are not given out again')
  await journal.close()
})

test('a segment that was let go after the note was written is not missed', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  for (let name = 1; name <= 3; name += 1) await journal.submit([draft(name, 1800)]).durable()
  await journal.close()
  const kept = await bytesOf(machine.disk, 'synced.0')
  const later = await Journal.open(machine, SMALL)
  for (let name = 4; name <= 8; name += 1) await later.submit([draft(name, 1800)]).durable()
  await later.removeSegment(later.segments().find(({ number }) => number === 2)!)
  await later.close()
  await write(machine.disk, 'synced.0', kept)
  await machine.disk.unlink('j/synced.1')
  const again = await Journal.open(machine, SMALL)
  assert.deepEqual(again.unreadable, [])
  assert.deepEqual(await names(again), [1, 2, 5, 6, 7, 8])
  await again.close()
})

test('a note that is damaged, of another store, of another segment of this number or old is as good as none', async () => {
  const machine = machineOf()
  const offsets = await written(machine, 3)
  const own = await bytesOf(machine.disk, 'synced.0')
  const journal = await Journal.open(machine, SMALL)
  const [segment] = journal.segments()
  const { store, salt } = segment!.header
  await journal.close()
  const note = { store, salt, segment: 1, offset: 1 << 20, lsn: 100 }
  const other = new Uint8Array(16).fill(7)
  const notes: readonly (readonly [string, Uint8Array])[] = [
    ['none', new Uint8Array()],
    ['cut', own.subarray(0, NOTE_BYTES - 1)],
    ['zeros', new Uint8Array(own.length)],
    ['noise', new Uint8Array(10_000).fill(0xa5)],
    ['another store', encodeNote(crc32, { ...note, store: other })],
    ['another store, a later segment', encodeNote(crc32, { ...note, store: other, segment: 9 })],
    ['another segment of this number', encodeNote(crc32, { ...note, salt: other })],
    ['old', encodeNote(crc32, { ...note, offset: offsets[1]!, lsn: 1 })],
  ]
  await spoil(machine.disk, segmentName(1), offsets[2]! + RECORD_HEADER_BYTES)
  const whole = await bytesOf(machine.disk, segmentName(1))
  for (const [what, bytes] of notes) {
    await write(machine.disk, segmentName(1), whole)
    await write(machine.disk, 'synced.0', bytes)
    const again = await Journal.open(machine, SMALL)
    assert.deepEqual(await names(again), [1, 2], what)
    assert.deepEqual(again.cut, { segment: 1, from: offsets[2], to: whole.length, firstLsn: 3, lastLsn: 3 }, what)
    assert.equal((await again.submit([draft(4)]).durable())[0]!.lsn, 4, what)
    await again.close()
    for (const { name } of await machine.disk.list('j')) if (name === 'synced.1') await machine.disk.unlink(`j/${name}`)
  }
})

test('notes go from file to file, one of which always holds the newest', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, { ...SMALL, segmentBytes: 1 << 20 })
  for (let count = 0; count < 3 * NOTES_PER_FILE; count += 1) {
    await journal.submit([draft(1)]).durable()
    await machine.clock.settle()
  }
  assert.equal((await bytesOf(machine.disk, 'synced.0')).length, NOTES_PER_FILE * NOTE_BYTES)
  assert.equal((await bytesOf(machine.disk, 'synced.1')).length, NOTES_PER_FILE * NOTE_BYTES)
  await journal.close()
  assert.equal(journal.noteFailures, 0)
  assert.deepEqual(leaks(machine), [])
})

test('a note that cannot be written delays nothing, is counted, and is made up for', async () => {
  const machine = machineOf()
  const { disk } = machine
  const open = disk.open.bind(disk)
  const stuck = Promise.withResolvers<never>()
  stuck.promise.catch(() => undefined)
  let mode: 'fails' | 'hangs' | 'works' = 'fails'
  disk.open = async (path, options) => {
    if (path.includes('synced') && options.mode !== 'read') {
      if (mode === 'fails') throw new Error('no note')
      if (mode === 'hangs') return await stuck.promise
    }
    return await open(path, options)
  }
  const journal = await Journal.open(machine, SMALL)
  await journal.submit([draft(1)]).durable()
  await machine.clock.settle()
  assert.equal(journal.noteFailures, 1)
  mode = 'hangs'
  for (let name = 2; name <= 4; name += 1) await journal.submit([draft(name)]).durable()
  assert.equal(journal.isStalled, false)
  stuck.reject(new Error('no note'))
  await machine.clock.settle()
  assert.equal(journal.noteFailures, 3, 'what was left out meanwhile is one note')
  mode = 'works'
  await journal.submit([draft(5)]).durable()
  await journal.close()
  const warnings = machine.log.lines.filter(({ message }) => message.includes('note of what is durable'))
  assert.equal(warnings.length, 1, 'said once')
  await spoil(machine.disk, segmentName(1), SEGMENT_HEADER_BYTES + 4 * 176 + RECORD_HEADER_BYTES)
  const again = await Journal.open(machine, SMALL)
  assert.deepEqual(await names(again), [1, 2, 3, 4, -1])
  await again.close()
  assert.deepEqual(leaks(machine), [])
})

/** A segment as 0.1 wrote it. */
function firstFormat(count: number): Uint8Array {
  const salt = new Uint8Array(16).fill(2)
  const header = { format: 1, overlapsSync: false, role: 'log', store: new Uint8Array(16).fill(1), salt } as const
  const sums = new RecordSums(crc32, salt)
  const parts = [encodeSegmentHeader(crc32, { ...header, number: 1, firstLsn: 1, previous: 0, previousEnd: 0 })]
  for (let lsn = 1; lsn <= count; lsn += 1) {
    const { payload, ...rest } = draft(lsn, 104)
    const offset = SEGMENT_HEADER_BYTES + (lsn - 1) * 176
    const head = new Uint8Array(RECORD_HEADER_BYTES)
    const payloadSum = sums.payloadSum(offset, lsn, payload)
    sums.encode(head, offset, { ...rest, length: payload.length, lsn, syncedLsn: lsn - 1, payloadSum })
    parts.push(head, payload)
  }
  return Buffer.concat(parts)
}

test('a segment of format 1 is recovered by its rules, read, and never appended to', async () => {
  const machine = machineOf()
  await machine.disk.makeDirectory('j')
  const old = firstFormat(3)
  await write(machine.disk, segmentName(1), Buffer.concat([old, Buffer.alloc(50, 1)]))
  const journal = await Journal.open(machine, SMALL)
  assert.deepEqual(journal.cut, { segment: 1, from: old.length, to: old.length + 50, firstLsn: 4, lastLsn: 3 })
  const [record] = await journal.submit([draft(4)]).durable()
  assert.deepEqual([record!.lsn, record!.place.segment], [4, 2])
  assert.deepEqual(
    journal.segments().map(({ format, header }) => [format, header.previous, header.previousEnd]),
    [
      [1, 0, 0],
      [2, 1, old.length],
    ],
  )
  await journal.close()
  assert.deepEqual(await bytesOf(machine.disk, segmentName(1)), new Uint8Array(old))
  const again = await Journal.open(machine, SMALL)
  assert.deepEqual(await names(again), [1, 2, 3, 4])
  assert.equal(again.activeNumber, 2)
  await again.close()
})
