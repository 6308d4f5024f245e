import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks, type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import { type DiskFile, MemoryDisk, systemCrypto } from '@cairn/platform'
import type { JournalMachine } from '../drive/drive.ts'
import { Journal } from './journal.ts'

type Machine = JournalMachine & VirtualRuntime

interface Watched extends Machine {
  /** Segments that are open for reading now, and were at most. */
  readonly open: Set<DiskFile>
  most: number
  /** Reads wait for it. */
  gate: Promise<void>
}

function machineOf(openFilesMax?: number): Watched {
  const runtime = virtualRuntime()
  const disk = new MemoryDisk(runtime, 64 * 1024 * 1024)
  const machine: Watched = {
    ...runtime,
    disk: Object.assign(disk, { openFilesMax }),
    crypto: systemCrypto,
    open: new Set<DiskFile>(),
    most: 0,
    gate: Promise.resolve(),
  }
  const open = disk.open.bind(disk)
  disk.open = async (path, options) => {
    const file = await open(path, options)
    if (options.mode !== 'read' || !path.endsWith('.seg')) return file
    machine.open.add(file)
    machine.most = Math.max(machine.most, machine.open.size)
    const [read, close] = [file.read.bind(file), file.close.bind(file)]
    file.read = async (position, into) => {
      await machine.gate
      assert.ok(machine.open.has(file), 'a file is not closed under a read')
      return await read(position, into)
    }
    file.close = async () => {
      machine.open.delete(file)
      await close()
    }
    return file
  }
  return machine
}

async function filled(machine: Watched, segments: number): Promise<Journal> {
  const journal = await Journal.open(machine, { path: 'j', sink: () => undefined, segmentBytes: 4096, reserveBytes: 0 })
  for (let name = 1; name <= segments; name += 1) {
    const id = new Uint8Array(32).fill(name)
    await journal.submit([{ kind: 1, flags: 0, id, payload: new Uint8Array(3000) }]).durable()
  }
  return journal
}

test('closing lets readers finish, lets no new one in, and leaves no file open', async () => {
  const machine = machineOf()
  const journal = await filled(machine, 3)
  const gate = Promise.withResolvers<void>()
  machine.gate = gate.promise
  const places = [1, 2, 3].map((segment) => ({ segment, offset: 128, length: 3000 }))
  const reads = places.map(async (place) => await journal.read(place))
  await machine.clock.settle()
  const closing = journal.close()
  await machine.clock.settle()
  await assert.rejects(journal.read(places[0]!), { kind: 'StorageBusy' })
  gate.resolve()
  for (const { length } of await Promise.all(reads)) assert.equal(length, 3000)
  await closing
  await assert.rejects(journal.read(places[1]!), { kind: 'StorageBusy' })
  assert.equal(machine.open.size, 0)
  assert.deepEqual(leaks(machine), [])
})

test('a read that is tried again while the journal closes opens nothing', async () => {
  const machine = machineOf()
  const journal = await filled(machine, 1)
  const gate = Promise.withResolvers<void>()
  machine.gate = gate.promise
  // The length is wrong, so it is read twice before that is believed.
  const read = journal.read({ segment: 1, offset: 128, length: 2000 })
  await machine.clock.settle()
  const closing = journal.close()
  gate.resolve()
  await assert.rejects(read)
  await closing
  assert.equal(machine.open.size, 0)
  assert.deepEqual(leaks(machine), [])
})

test('open segments are a share of what the process may have open, the least recently read are closed', async () => {
  const machine = machineOf(128)
  const journal = await filled(machine, 20)
  for (let round = 0; round < 2; round += 1)
    for (let segment = 1; segment <= 20; segment += 1) await journal.read({ segment, offset: 128, length: 3000 })
  assert.ok(machine.most <= 8 + 1, `${machine.most}`)
  const gate = Promise.withResolvers<void>()
  machine.gate = gate.promise
  const all = Array.from({ length: 20 }, (_, at) => journal.read({ segment: at + 1, offset: 128, length: 3000 }))
  await machine.clock.settle()
  gate.resolve()
  await Promise.all(all)
  await machine.clock.settle()
  assert.ok(machine.open.size <= 8, 'those in use are kept while they are')
  await journal.close()
  assert.equal(machine.open.size, 0)
  assert.deepEqual(leaks(machine), [])
})
