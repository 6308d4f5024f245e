import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isKind } from '../errors.ts'
import { Semaphore } from './semaphore.ts'
import { createSemaphore, release, tryAcquire } from './semaphore-core.ts'

test('permits go to waiters in order, and nobody overtakes', async () => {
  const semaphore = new Semaphore(1)
  const held = semaphore.tryAcquire()
  const order: string[] = []
  const take = async (name: string): Promise<void> => {
    using _permit = await semaphore.acquire()
    order.push(name)
  }
  const all = [take('first'), take('second')]
  held?.[Symbol.dispose]()
  assert.equal(semaphore.tryAcquire(), undefined)
  await Promise.all(all)
  assert.deepEqual(order, ['first', 'second'])
  assert.equal(semaphore.available, 1)
})

test('a canceled wait takes no permit, and disposing twice gives one back', async () => {
  const semaphore = new Semaphore(1)
  const held = semaphore.tryAcquire()
  const controller = new AbortController()
  const waiting = semaphore.acquire({ signal: controller.signal })
  controller.abort()
  await assert.rejects(waiting, (error) => isKind(error, 'Canceled'))
  held?.[Symbol.dispose]()
  held?.[Symbol.dispose]()
  assert.equal(semaphore.available, 1)
  assert.equal(semaphore.waiting, 0)
})

test('never more holders than permits, whatever the schedule of holders and cancels', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.boolean(), { maxLength: 10 }),
      async (scheduler, permits, cancels) => {
        const semaphore = new Semaphore(permits)
        let holders = 0
        const users = cancels.map(async (cancel) => {
          const controller = new AbortController()
          const leaving = cancel ? scheduler.schedule(Promise.resolve()).then(() => controller.abort()) : undefined
          try {
            using _permit = await semaphore.acquire({ signal: controller.signal })
            holders += 1
            assert.ok(holders <= permits)
            await scheduler.schedule(Promise.resolve())
            holders -= 1
          } catch (error) {
            if (!isKind(error, 'Canceled')) throw error
          }
          await leaving
        })
        await scheduler.waitFor(Promise.all(users))
        assert.equal(semaphore.available, permits)
      },
    ),
  )
})

test('a semaphore has at least one permit, and takes back no more than it gave', () => {
  for (const permits of [0, -1, 1.5, Number.NaN]) assert.throws(() => createSemaphore(permits), RangeError)
  const semaphore = createSemaphore(1)
  assert.throws(() => release(semaphore), /No permit is taken/)
  assert.equal(semaphore.available, 1)
})

test('a permit that is free for a moment belongs to whoever waits', () => {
  const semaphore = createSemaphore(1)
  semaphore.line.add(() => undefined)
  assert.equal(tryAcquire(semaphore), false)
})
