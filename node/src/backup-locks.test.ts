import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { VirtualClock } from '@cairn/kernel/testing'
import { BackupLocks } from './backup-locks.ts'

function scene() {
  const clock = new VirtualClock()
  const holds = new BackupLocks(clock)
  const done: string[] = []
  const work = async (what: string, until?: Promise<void>): Promise<void> =>
    await holds.maintenanceLockOf('storage').work(async () => {
      await until
      done.push(what)
    })
  return { clock, holds, done, work }
}

describe('maintenance locks', () => {
  test('wait for what is under way, and keep the next from beginning until the last holder lets go', async () => {
    const { holds, done, work } = scene()
    const { promise, resolve } = Promise.withResolvers<void>()
    const sweeping = work('swept', promise)
    const held = holds.hold('a', 1000).then(() => done.push('held by a'))
    const second = holds.hold('b', 1000)
    resolve()
    await Promise.all([sweeping, held, second])
    assert.deepEqual(done, ['swept', 'held by a'])
    const compacting = work('compacted')
    await holds.release('a')
    await Promise.resolve()
    assert.equal(done.length, 2)
    await holds.release('b')
    await compacting
    assert.deepEqual(done, ['swept', 'held by a', 'compacted'])
  })

  test('end by themselves when nobody says them again in time', async () => {
    const { clock, holds, done, work } = scene()
    holds.maintenanceLockOf('storage')
    await holds.hold('a', 1000)
    clock.advance(900)
    await holds.hold('a', 1000)
    const pruning = work('pruned')
    clock.advance(900)
    await holds.expire()
    assert.deepEqual(done, [])
    clock.advance(200)
    await holds.expire()
    await pruning
    assert.deepEqual(done, ['pruned'])
  })
})
