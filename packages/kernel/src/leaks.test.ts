/**
 * What a process that runs for months does all day must leave nothing behind. Each pattern runs
 * 4 000 and then 20 000 times against signals that live throughout; the heap may differ by less
 * than 1 MiB after collection, and no listener may remain.
 */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Broadcast } from './channel/broadcast.ts'
import { Queue } from './channel/queue.ts'
import { Watch } from './channel/watch.ts'
import { sleep, VirtualClock } from './clock.ts'
import { Cancel } from './policy/cancel.ts'
import { Deadline } from './policy/deadline.ts'
import { hedge } from './policy/hedge.ts'
import { TokenBucket } from './policy/token-bucket.ts'
import { leaks, type VirtualRuntime, virtualRuntime } from './runtime.ts'
import { type Job, submit } from './task/job.ts'
import { Supervisor } from './task/supervisor.ts'

/** Mutation testing runs these hundreds of times: a quarter of the rounds, and half of what the heap may grow by. */
const SHARE = process.env['CAIRN_MUTATION'] === '1' ? 4 : 1
const MEBIBYTE = 1 << 20

async function heapAfter(times: number, once: () => Promise<void>): Promise<number> {
  for (let time = 0; time < times; time += 1) await once()
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.()
    await new VirtualClock().settle()
  }
  return process.memoryUsage().heapUsed
}

interface Pattern {
  readonly runtime: VirtualRuntime
  readonly signals: readonly AbortSignal[]
  once(): Promise<void>
  end(): void | Promise<unknown>
}

async function assertFlat(t: TestContext, make: () => Pattern): Promise<void> {
  if (globalThis.gc === undefined) return t.skip('needs --expose-gc')
  const { runtime, signals, once, end } = make()
  const few = await heapAfter(4_000 / SHARE, once)
  const many = await heapAfter(20_000 / SHARE, once)
  t.diagnostic(`heap after 4 000: ${few >> 10} KiB, after 20 000 more: ${many >> 10} KiB`)
  assert.ok(many - few < MEBIBYTE / Math.sqrt(SHARE), `the heap grew by ${(many - few) >> 10} KiB`)
  for (const signal of signals) assert.equal(getEventListeners(signal, 'abort').length, 0)
  await end()
  assert.deepEqual(leaks(runtime), [])
}

test('canceled waits on a queue, a watch, a broadcast, a bucket and a clock', async (t) => {
  await assertFlat(t, () => {
    const runtime = virtualRuntime()
    const shutdown = new AbortController().signal
    const queue = new Queue<number>(runtime, { name: 'work', capacity: 1, overflow: 'reject' })
    const watch = new Watch(0)
    const broadcast = new Broadcast<number>(runtime, { name: 'events', capacity: 1 })
    const subscription = broadcast.subscribe()
    const bucket = new TokenBucket(runtime.clock, { rate: 1, burst: 1 })
    bucket.tryTake()
    return {
      runtime,
      signals: [shutdown],
      async once() {
        using cancel = new Cancel({ signals: [shutdown] })
        const { signal } = cancel
        const waits = [
          queue.recv({ signal }),
          watch.changed(watch.version, { signal }),
          subscription.recv({ signal }),
          bucket.take(1, { signal }),
          sleep(runtime.clock, 1e6, { signal }),
        ]
        cancel.abort()
        await Promise.allSettled(waits)
      },
      end() {
        queue.abort()
        broadcast.close()
      },
    }
  })
})

test('waits that succeed against a signal that never fires', async (t) => {
  await assertFlat(t, () => {
    const runtime = virtualRuntime()
    const { signal } = new AbortController()
    const queue = new Queue<number>(runtime, { name: 'work', capacity: 1, overflow: 'reject' })
    return {
      runtime,
      signals: [signal],
      async once() {
        const waiting = queue.recv({ signal })
        queue.trySend(1)
        await waiting
      },
      end: () => void queue.abort(),
    }
  })
})

test('expired deadlines of requests and of queued jobs', async (t) => {
  await assertFlat(t, () => {
    const runtime = virtualRuntime()
    const shutdown = new AbortController().signal
    const queue = new Queue<Job<number, number>>(runtime, { name: 'work', capacity: 1, overflow: 'reject' })
    return {
      runtime,
      signals: [shutdown],
      async once() {
        const deadline = Deadline.after(runtime.clock, 5)
        using cancel = new Cancel({ signals: [shutdown], deadline })
        const job = submit(queue, 1, { deadline, signal: shutdown }).catch(() => 0)
        runtime.clock.advance(5)
        await job
        assert.equal(cancel.signal.aborted, true)
        queue.tryReceive()
      },
      end: () => void queue.abort(),
    }
  })
})

test('hedges with losers', async (t) => {
  await assertFlat(t, () => {
    const runtime = virtualRuntime()
    const { signal } = new AbortController()
    const loser = async (own: AbortSignal): Promise<string> => {
      await sleep(runtime.clock, 1e6, { signal: own })
      return 'late'
    }
    const winner = async (): Promise<string> => await Promise.resolve('early')
    return {
      runtime,
      signals: [signal],
      async once() {
        const { answer } = await hedge(runtime.clock, { first: [loser, winner], second: [loser], delayMs: 50, signal })
        assert.equal(answer, 'early')
      },
      end: () => {},
    }
  })
})

test('supervised restarts', async (t) => {
  await assertFlat(t, () => {
    const runtime = virtualRuntime()
    const supervisor = new Supervisor(runtime, { drainDeadlineMs: 1_000 })
    const failures = new Watch(0)
    let starts = 0
    supervisor.start('flaky', async ({ draining }) => {
      starts += 1
      const { version } = await failures.changed(failures.version, { signal: draining })
      throw new Error(`failure ${version}`)
    })
    return {
      runtime,
      signals: [supervisor.shutdown.aborting],
      async once() {
        failures.set(0)
        // Far enough apart that the task is never taken for one that flaps.
        await runtime.clock.run(20_000)
        runtime.log.lines.length = 0
      },
      async end() {
        assert.equal(starts, 24_000 / SHARE + 1)
        await supervisor.stop()
      },
    }
  })
})
