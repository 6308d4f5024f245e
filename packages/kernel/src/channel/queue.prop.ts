import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { virtualRuntime } from '../runtime.ts'
import { Queue } from './queue.ts'
import * as core from './queue-core.ts'

interface Item {
  readonly producer: number
  readonly sequence: number
  readonly lane: core.Lane
}

type Step =
  | { readonly tag: 'send'; readonly producer: number; readonly lane: core.Lane }
  | { readonly tag: 'receive' }
  | { readonly tag: 'wait' }
  | { readonly tag: 'abandon' }
  | { readonly tag: 'close' }
  | { readonly tag: 'abort' }

const lane = fc.constantFrom<core.Lane>('normal', 'urgent')
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ tag: fc.constant('send' as const), producer: fc.nat(2), lane }) },
  { weight: 4, arbitrary: fc.constant<Step>({ tag: 'receive' }) },
  { weight: 3, arbitrary: fc.constant<Step>({ tag: 'wait' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ tag: 'abandon' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ tag: 'close' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ tag: 'abort' }) },
)
const shape = fc
  .record({
    capacity: fc.integer({ min: 1, max: 4 }),
    reserved: fc.nat(3),
    overflow: fc.constantFrom<core.Overflow>('reject', 'drop-oldest'),
  })
  .filter(({ capacity, reserved }) => reserved < capacity)

test('over any run nothing is lost, nothing is duplicated, order holds, and capacity is never exceeded', () => {
  fc.assert(
    fc.property(shape, fc.array(step, { maxLength: 60 }), (options, steps) => {
      const queue = core.createQueue<Item>(options)
      const accepted: Item[] = []
      const ended: Item[] = []
      const received: Item[] = []
      const waiting: ReturnType<typeof queue.receivers.any.add>[] = []
      const sequences = [0, 0, 0]
      const take = (outcome: core.ReceiveResult<Item>): void => {
        if (outcome.tag !== 'item') return
        received.push(outcome.item)
        ended.push(outcome.item)
      }
      for (const now of steps) {
        switch (now.tag) {
          case 'send': {
            const item: Item = { producer: now.producer, sequence: sequences[now.producer]!++, lane: now.lane }
            if (core.trySend(queue, item, now.lane, (dropped) => ended.push(dropped)) === 'sent') accepted.push(item)
            break
          }
          case 'receive': {
            const outcome = core.tryReceive(queue)
            if (outcome !== undefined) take(outcome)
            break
          }
          case 'wait': {
            const outcome = core.tryReceive(queue)
            if (outcome === undefined) waiting.push(queue.receivers.any.add(take))
            else take(outcome)
            break
          }
          case 'abandon': {
            const waiter = waiting.shift()
            if (waiter !== undefined) queue.receivers.any.remove(waiter)
            break
          }
          case 'close':
            core.close(queue)
            break
          case 'abort':
            ended.push(...core.abort(queue))
            break
        }
        const depth = core.depth(queue)
        assert.ok(depth <= options.capacity)
        assert.ok(queue.normal.length <= options.capacity - options.reserved)
        assert.equal(queue.sent, queue.received + queue.dropped + queue.discarded + depth)
        assert.ok(queue.receivers.any.size === 0 || depth === 0, 'nobody waits beside an item')
      }
      ended.push(...core.abort(queue))
      assert.deepEqual(new Set(ended), new Set(accepted))
      assert.equal(ended.length, accepted.length)
      assertOrder(received, options.reserved)
    }),
    { numRuns: 2_000 },
  )
})

/** First in, first out for each producer within a lane; without a reserve there is only one lane. */
function assertOrder(received: readonly Item[], reserved: number): void {
  const last = new Map<string, number>()
  for (const { producer, sequence, lane: taken } of received) {
    const key = reserved === 0 ? `${producer}` : `${producer} ${taken}`
    assert.ok(sequence > (last.get(key) ?? -1), `${key} out of order`)
    last.set(key, sequence)
  }
}

test('the shell does what the core does, whatever order its promises resume in', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), shape, fc.array(step, { maxLength: 30 }), async (scheduler, options, steps) => {
      const runtime = virtualRuntime()
      const shell = new Queue<number>(runtime, { name: 'shell', ...options })
      const twin = core.createQueue<number>(options)
      const shellGot: Promise<unknown>[] = []
      const twinGot: unknown[] = []
      const controllers: AbortController[] = []
      const twinWaiters: (ReturnType<typeof twin.receivers.any.add> & { slot?: number })[] = []
      let next = 0
      const actions = steps.map((now) => () => {
        const slot = twinGot.length
        if (now.tag === 'send') {
          next += 1
          assert.equal(shell.trySend(next, now.lane), core.trySend(twin, next, now.lane))
        } else if (now.tag === 'receive' || now.tag === 'wait') {
          const controller = new AbortController()
          shellGot.push(shell.recv({ signal: controller.signal }).catch(() => 'canceled'))
          const outcome = core.tryReceive(twin)
          twinGot.push(outcome ?? 'waiting')
          if (outcome === undefined) {
            controllers.push(controller)
            const waiter = twin.receivers.any.add((woken) => {
              twinGot[slot] = woken
            })
            twinWaiters.push(Object.assign(waiter, { slot }))
          }
        } else if (now.tag === 'abandon') {
          controllers.shift()?.abort()
          const waiter = twinWaiters.shift()
          if (waiter !== undefined && twin.receivers.any.remove(waiter)) twinGot[waiter.slot!] = 'canceled'
        } else if (now.tag === 'close') {
          shell.close()
          core.close(twin)
        } else {
          assert.equal(shell.abort(), core.abort(twin).length)
        }
        assert.equal(shell.depth, core.depth(twin))
      })
      const done = actions.map(async (action) => {
        await scheduler.schedule(Promise.resolve())
        action()
      })
      await scheduler.waitFor(Promise.all(done))
      shell.abort()
      core.abort(twin)
      assert.deepEqual(await Promise.all(shellGot), twinGot)
    }),
    { numRuns: 300 },
  )
})
