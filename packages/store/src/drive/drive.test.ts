import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks, virtualRuntime } from '@cairn/kernel/testing'
import { Drive } from './drive.ts'

test('four reads and two writes at a time, in the order they came, neither behind the other', async () => {
  const runtime = virtualRuntime()
  const drive = new Drive(runtime, 1_000)
  const ends: (() => void)[] = []
  const begun: string[] = []
  const run = async (lane: 'read' | 'write', number: number): Promise<void> =>
    await drive.run(lane, lane, async () => {
      begun.push(`${lane} ${number}`)
      await new Promise<void>((resolve) => ends.push(resolve))
    })
  const reads = [1, 2, 3, 4, 5].map(async (number) => await run('read', number))
  const writes = [1, 2, 3].map(async (number) => await run('write', number))
  await runtime.clock.settle()
  assert.deepEqual(begun, ['read 1', 'read 2', 'read 3', 'read 4', 'write 1', 'write 2'])
  ends[4]!()
  await runtime.clock.settle()
  assert.deepEqual(begun.slice(6), ['write 3'])
  ends[0]!()
  await runtime.clock.settle()
  assert.deepEqual(begun.slice(7), ['read 5'])
  for (const end of ends) end()
  await Promise.all([...reads, ...writes])
  assert.deepEqual(leaks(runtime), [])
})

test('an operation that hangs stalls the drive and keeps its permit until it ends', async () => {
  const runtime = virtualRuntime()
  const drive = new Drive(runtime, 1_000)
  const hanging = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const late: string[] = []
  const calls = hanging.map(async ({ promise }) => {
    await assert.rejects(
      drive.run('write', 'sync', async () => await promise, { late: (value) => void late.push(value) }),
      {
        kind: 'StorageBusy',
        code: 'drive_stalled',
      },
    )
  })
  await runtime.clock.run(1_000)
  await Promise.all(calls)
  assert.equal(drive.isStalled, true)
  assert.equal(runtime.metrics.value('io_timeouts_total', { op: 'sync' }), 2)
  await assert.rejects(
    drive.run('write', 'write', async () => await Promise.resolve()),
    { code: 'drive_stalled' },
  )
  // Reading goes on: it may still find its bytes in memory.
  assert.equal(await drive.run('read', 'read', async () => await Promise.resolve('read')), 'read')
  hanging[0]!.resolve('first')
  await runtime.clock.settle()
  assert.equal(await drive.run('write', 'write', async () => await Promise.resolve('write')), 'write')
  hanging[1]!.resolve('second')
  await runtime.clock.settle()
  assert.equal(drive.isStalled, false)
  assert.deepEqual(late, ['first', 'second'])
  assert.deepEqual(leaks(runtime), [])
})
