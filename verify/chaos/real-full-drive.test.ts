/** A small file system of the machine's own, filled by another program. Needs the right to mount one. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, open, rm, statfs, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { leaks, type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import { RealDisk, systemCrypto } from '@cairn/platform'
import { Journal, type JournalMachine } from '@cairn/store'
import { type JournalOptions, TOMBSTONE } from '@cairn/store/testing'

const run = promisify(execFile)
const MIB = 1024 * 1024
const RESERVE = 8 * MIB

/** Where the file system is; nothing, and the test is skipped, where none can be mounted. */
async function mounted(t: TestContext): Promise<string | undefined> {
  const path = await mkdtemp(join(tmpdir(), 'cairn-full-'))
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', path])
  } catch {
    await rm(path, { recursive: true })
    t.skip('a tmpfs can be mounted by root only')
    return undefined
  }
  t.after(async () => {
    await run('umount', [path])
    await rm(path, { recursive: true })
  })
  return path
}

async function fillUp(path: string): Promise<void> {
  const { bavail, bsize } = await statfs(path)
  await using file = await open(join(path, 'other'), 'a')
  for (let left = bavail * bsize; left > 0; left -= MIB) {
    try {
      await file.write(Buffer.alloc(Math.min(left, MIB), 1))
    } catch {
      return
    }
  }
}

type Machine = JournalMachine & VirtualRuntime

/** Time is ours, the drive is not: how many steps of ours it takes depends on the machine, and the test's limit ends it. */
async function until({ clock }: Machine, isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await clock.run(100)
    await setImmediate()
  }
}

test('a full drive: puts are refused, deletes and reads go on, over a restart as well, and it heals', async (t) => {
  const path = await mounted(t)
  if (path === undefined) return
  const runtime = virtualRuntime()
  const machine: Machine = { ...runtime, disk: new RealDisk(runtime), crypto: systemCrypto }
  const options: JournalOptions = {
    path: `${path}/journal`,
    sink: () => undefined,
    segmentBytes: MIB,
    reserveBytes: RESERVE,
    holdsReserve: true,
    ioTimeoutMs: 1e9,
  }
  const draft = (name: number, bytes: number) => ({
    kind: 1,
    flags: 0,
    id: new Uint8Array(32).fill(name),
    payload: new Uint8Array(bytes).fill(name),
  })
  let journal = await Journal.open(machine, options)
  const remove = async (): Promise<void> => {
    await journal.submit([{ ...draft(1, 8), flags: TOMBSTONE }], { freesSpace: true }).durable()
  }
  const [kept] = await journal.submit([draft(1, 100_000)]).durable()
  await until(machine, () => journal.reserve.heldBytes === RESERVE)
  for (let life = 0; life < 3; life += 1) {
    await fillUp(path)
    await assert.rejects(async () => await journal.submit([draft(2, 100_000)]).durable(), { status: 507 })
    await until(machine, () => journal.unready === undefined)
    for (let count = 0; count < 100; count += 1) await remove()
    assert.equal((await journal.read(kept!.place)).length, 100_000)
    await journal.close()
    await fillUp(path)
    journal = await Journal.open(machine, options)
    assert.equal((await journal.read(kept!.place)).length, 100_000)
    for (let count = 0; count < 100; count += 1) await remove()
  }
  assert.ok(journal.reserve.heldBytes < RESERVE)
  await unlink(join(path, 'other'))
  await until(machine, () => journal.reserve.heldBytes === RESERVE)
  await journal.submit([draft(3, 100_000)]).durable()
  await journal.close()
  assert.deepEqual(leaks(machine), [])
})
