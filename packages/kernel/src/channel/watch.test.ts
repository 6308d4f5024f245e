import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isKind } from '../errors.ts'
import { Watch } from './watch.ts'

test('a late subscriber sees the current value at once', async () => {
  const watch = new Watch('running')
  watch.set('draining')
  assert.deepEqual(await watch.changed(0), { value: 'draining', version: 1 })
})

test('a wait that begins before the write hears it', async () => {
  const watch = new Watch(0)
  const heard = watch.changed(watch.version)
  watch.set(1)
  assert.equal((await heard).value, 1)
  assert.equal(watch.waiting, 0)
})

test('until skips values that do not hold and returns at once when one does', async () => {
  const watch = new Watch(1)
  const even = watch.until((value) => value % 2 === 0)
  watch.set(3)
  await Promise.resolve()
  watch.set(4)
  assert.equal(await even, 4)
  assert.equal(await watch.until((value) => value === 4), 4)
})

test('an aborted wait leaves nobody in line', async () => {
  const watch = new Watch(0)
  const controller = new AbortController()
  const waiting = watch.changed(0, { signal: controller.signal })
  controller.abort()
  await assert.rejects(waiting, (error) => isKind(error, 'Canceled'))
  assert.equal(watch.waiting, 0)
})

test('whatever the interleaving, a reader that follows versions ends at the last write', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.integer({ min: 1, max: 8 }), async (scheduler, writes) => {
      const watch = new Watch(0)
      const seen: number[] = []
      const reader = async (): Promise<void> => {
        for (let at = await watch.changed(0); ; at = await watch.changed(at.version)) {
          seen.push(at.value)
          if (at.value === writes) return
          await scheduler.schedule(Promise.resolve(), 'reader')
        }
      }
      const reading = reader()
      const writer = async (): Promise<void> => {
        for (let value = 1; value <= writes; value += 1) {
          await scheduler.schedule(Promise.resolve(), 'writer')
          watch.set(value)
        }
      }
      const writing = writer()
      await scheduler.waitFor(Promise.all([reading, writing]))
      assert.equal(seen.at(-1), writes)
      assert.deepEqual(
        seen,
        [...seen].sort((a, b) => a - b),
      )
    }),
  )
})
