import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks, virtualRuntime } from '@cairn/kernel/testing'
import { Drive } from './drive.ts'

test('two operations at a time, in the order they came', async () => {
  const runtime = virtualRuntime()
  const drive = new Drive(runtime, 1_000)
  const ends: (() => void)[] = []
  const begun: number[] = []
  const run = async (number: number): Promise<void> =>
    await drive.run('read', async () => {
      begun.push(number)
      await new Promise<void>((resolve) => ends.push(resolve))
    })
  const all = [1, 2, 3].map(async (number) => await run(number))
  await runtime.clock.settle()
  assert.deepEqual(begun, [1, 2])
  ends[0]!()
  await runtime.clock.settle()
  assert.deepEqual(begun, [1, 2, 3])
  for (const end of ends) end()
  await Promise.all(all)
  assert.deepEqual(leaks(runtime), [])
})

test('an operation that hangs stalls the drive and keeps its permit until it ends', async () => {
  const runtime = virtualRuntime()
  const drive = new Drive(runtime, 1_000)
  const hanging = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const late: string[] = []
  const calls = hanging.map(async ({ promise }) => {
    await assert.rejects(
      drive.run('sync', async () => await promise, { late: (value) => void late.push(value) }),
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
    drive.run('read', async () => await Promise.resolve()),
    { code: 'drive_stalled' },
  )
  hanging[0]!.resolve('first')
  await runtime.clock.settle()
  assert.equal(await drive.run('read', async () => await Promise.resolve('read')), 'read')
  hanging[1]!.resolve('second')
  await runtime.clock.settle()
  assert.equal(drive.isStalled, false)
  assert.deepEqual(late, ['first', 'second'])
  assert.deepEqual(leaks(runtime), [])
})
