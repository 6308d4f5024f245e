import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks, type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import { type Disk, MemoryDisk, systemCrypto } from '@cairn/platform'
import { blake3 } from '@cairn/wire'
import type { JournalMachine } from '../drive/drive.ts'
import { PROVED_BY_ID, RECORD_HEADER_BYTES } from './format.ts'
import { Journal, type JournalOptions } from './journal.ts'
import { type Draft, segmentName, sideName } from './segment.ts'

const SMALL: JournalOptions = { path: 'j', sink: () => undefined, segmentBytes: 4096, reserveBytes: 8192 }

function machineOf(): JournalMachine & VirtualRuntime {
  const runtime = virtualRuntime()
  return { ...runtime, disk: new MemoryDisk(runtime, 64 * 1024 * 1024), crypto: systemCrypto }
}

function draft(name: number, payloadBytes = 100): Draft {
  return { kind: 1, flags: 0, id: new Uint8Array(32).fill(name), payload: new Uint8Array(payloadBytes).fill(name) }
}

async function flip(disk: Disk, name: string, at: number): Promise<void> {
  await using file = await disk.open(`j/${name}`, { mode: 'append' })
  const whole = new Uint8Array(await file.size())
  await file.read(0, whole)
  whole[at] = whole[at]! ^ 1
  await file.truncate(0)
  await file.append([whole])
}

test('a segment is told of once, when it takes no more: full, or left after a failure', async () => {
  const machine = machineOf()
  const sealed: string[] = []
  const onSealed = ({ number, end, size }: { number: number; end: number; size: number }): void =>
    void sealed.push(`${number} ${end} ${end === size ? 'whole' : 'cut'}`)
  const journal = await Journal.open(machine, { ...SMALL, onSealed })
  for (let name = 1; name <= 3; name += 1) await journal.submit([draft(name, 1800)]).durable()
  assert.deepEqual(sealed, ['1 3872 whole'])
  const { disk } = machine
  const open = disk.open.bind(disk)
  disk.open = async (path, options) => {
    disk.open = open
    if (options.mode === 'create') throw new Error('no new segment')
    return await open(path, options)
  }
  await assert.rejects(
    Promise.all([
      journal.submit([draft(4, 1800)]).durable(),
      journal.submit([draft(5, 1800)]).durable(),
      journal.submit([draft(6, 1800)]).durable(),
    ]),
  )
  await machine.clock.settle()
  assert.equal(sealed.length, 2, 'healed with a new one')
  await journal.close()
  assert.equal(sealed.length, 2)
  assert.deepEqual(leaks(machine), [])
})

test('the header of a record is read without its payload, and proved', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  const [record] = await journal.submit([draft(7)]).durable()
  const { place } = record!
  const { kind, id, lsn, length } = await journal.readHeader(place)
  assert.deepEqual({ kind, id, lsn, length }, { kind: 1, id: draft(7).id, lsn: 1, length: 100 })
  await assert.rejects(journal.readHeader({ ...place, length: 99 }), { code: 'record_damaged' })
  await assert.rejects(journal.readHeader({ ...place, offset: place.offset + 8 }), { code: 'record_damaged' })
  await assert.rejects(journal.readHeader({ ...place, segment: 9 }), { kind: 'NotFound' })
  await flip(machine.disk, segmentName(1), place.offset + RECORD_HEADER_BYTES)
  assert.equal((await journal.readHeader(place)).lsn, 1, 'the payload is not its affair')
  await flip(machine.disk, segmentName(1), place.offset + 40)
  await assert.rejects(journal.readHeader(place), { code: 'record_damaged' })
  await journal.close()
})

test('a payload whose id is its hash has no sum: the header makes the record, a reader proves the payload', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  const payload = new Uint8Array(500).fill(3)
  const [record] = await journal.submit([{ kind: 1, flags: PROVED_BY_ID, id: blake3(payload), payload }]).durable()
  const { place } = record!
  assert.equal((await journal.readHeader(place)).payloadSum, 0)
  assert.deepEqual((await journal.read(place)).payload, payload)
  await journal.submit([draft(2)]).durable()
  await flip(machine.disk, segmentName(1), place.offset + RECORD_HEADER_BYTES + 9)
  await assert.rejects(journal.read(place), { code: 'record_damaged' })
  const tags: string[] = []
  for await (const event of journal.replay()) tags.push(event.tag)
  assert.deepEqual(tags, ['record', 'record'])
  await journal.close()
})

test('a side file stays through an opening, its draft does not, and it goes with its segment', async () => {
  const machine = machineOf()
  const journal = await Journal.open(machine, SMALL)
  for (let name = 1; name <= 3; name += 1) await journal.submit([draft(name, 1800)]).durable()
  const { directory } = journal
  await directory.replace(sideName(1), [[new Uint8Array([1])], [new Uint8Array([2]), new Uint8Array([3])]])
  await directory.replace(sideName(1), [[new Uint8Array([4, 5])]])
  const failing = async function* (): AsyncGenerator<Uint8Array[]> {
    yield await Promise.resolve([new Uint8Array([6])])
    throw new Error('no more')
  }
  await assert.rejects(directory.replace(sideName(1), failing()), /no more/)
  await (await machine.disk.open(`j/${sideName(2)}.tmp`, { mode: 'create' })).close()
  await journal.close()
  const again = await Journal.open(machine, SMALL)
  const sides = async (): Promise<string[]> =>
    (await machine.disk.list('j')).map(({ name }) => name).filter((name) => name.includes('.idx'))
  assert.deepEqual(await sides(), [sideName(1)])
  await using file = await machine.disk.open(`j/${sideName(1)}`, { mode: 'read' })
  assert.equal(await file.size(), 2)
  await again.removeSegment(again.segments().find(({ number }) => number === 1)!)
  assert.deepEqual(await sides(), [])
  await again.close()
})
