import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import { Queue } from '../channel/queue.ts'
import { sleep } from '../clock.ts'
import { CairnError, isKind } from '../errors.ts'
import { Deadline } from '../policy/deadline.ts'
import { leaks, type VirtualRuntime, virtualRuntime } from '../runtime.ts'
import { Job, serveJobs, submit } from './job.ts'
import { Supervisor } from './supervisor.ts'

function service(runtime: VirtualRuntime, capacity: number, workMs: number) {
  const onLost = (job: Job<number, number>): void => job.cancel()
  const queue = new Queue<Job<number, number>>(runtime, { name: 'work', capacity, overflow: 'reject', onLost })
  const supervisor = new Supervisor(runtime, { drainDeadlineMs: 1_000 })
  const started: number[] = []
  supervisor.start('worker', async (context) => {
    await serveJobs(queue, context, async (input, job) => {
      started.push(input)
      if (input < 0) throw new CairnError('NotFound', 'negative')
      await sleep(runtime.clock, workMs, { signal: job.signal })
      return input * 2
    })
  })
  const stop = async (): Promise<unknown> => {
    queue.close()
    const stopping = supervisor.stop()
    supervisor.shutdown.aborting.addEventListener('abort', () => queue.abort(), { once: true })
    return await stopping
  }
  return { queue, supervisor, started, stop }
}

async function outcome(job: Promise<number>): Promise<string> {
  return await job.then(
    (value) => `done ${value}`,
    (error: unknown) => (error instanceof CairnError ? error.kind : String(error)),
  )
}

test('a job is done or fails with its own error', async () => {
  const runtime = virtualRuntime()
  const { queue, stop } = service(runtime, 4, 10)
  const deadline = Deadline.after(runtime.clock, 1_000)
  const outcomes = Promise.all([outcome(submit(queue, 21, { deadline })), outcome(submit(queue, -1, { deadline }))])
  await runtime.clock.run(100)
  assert.deepEqual(await outcomes, ['done 42', 'NotFound'])
  await stop()
  assert.deepEqual(leaks(runtime), [])
})

test('a full queue answers Busy at once, with when to come back', async () => {
  const runtime = virtualRuntime()
  const { queue, stop } = service(runtime, 1, 10)
  const deadline = Deadline.after(runtime.clock, 1_000)
  await runtime.clock.settle()
  const accepted = [submit(queue, 1, { deadline }), submit(queue, 2, { deadline })]
  await assert.rejects(submit(queue, 3, { deadline }), (error) => isKind(error, 'Busy') && error.retryAfterMs === 1_000)
  await runtime.clock.run(100)
  assert.deepEqual(await Promise.all(accepted), [2, 4])
  await stop()
})

test('a job whose budget ends in the queue is answered then, and never started', async () => {
  const runtime = virtualRuntime()
  const { queue, started, stop } = service(runtime, 4, 100)
  const long = submit(queue, 1, { deadline: Deadline.after(runtime.clock, 1_000) })
  const short = outcome(submit(queue, 2, { deadline: Deadline.after(runtime.clock, 50) }))
  await runtime.clock.run(60)
  assert.equal(await short, 'Timeout')
  await runtime.clock.run(200)
  assert.equal(await long, 2)
  assert.deepEqual(started, [1])
  await assert.rejects(submit(queue, 3, { deadline: Deadline.after(runtime.clock, 0) }), (error) =>
    isKind(error, 'Timeout'),
  )
  await stop()
  assert.deepEqual(leaks(runtime), [])
})

test('a caller that leaves aborts the handler', async () => {
  const runtime = virtualRuntime()
  const { queue, stop } = service(runtime, 4, 500)
  const controller = new AbortController()
  const job = outcome(submit(queue, 1, { deadline: Deadline.after(runtime.clock, 1_000), signal: controller.signal }))
  await runtime.clock.run(10)
  controller.abort()
  assert.equal(await job, 'Canceled')
  await runtime.clock.settle()
  assert.equal(runtime.clock.pending(), 0)
  await stop()
})

test('draining finishes what is queued; the deadline cancels the rest; nothing is stranded', async () => {
  const runtime = virtualRuntime()
  const { queue, stop } = service(runtime, 8, 400)
  const deadline = Deadline.after(runtime.clock, 60_000)
  const jobs = [1, 2, 3, 4].map(async (input) => await outcome(submit(queue, input, { deadline })))
  await runtime.clock.settle()
  const stopped = stop()
  await assert.rejects(submit(queue, 9, { deadline }), (error) => isKind(error, 'Canceled'))
  await runtime.clock.run(5_000)
  await stopped
  assert.deepEqual(await Promise.all(jobs), ['done 2', 'done 4', 'Canceled', 'Canceled'])
  assert.deepEqual(leaks(runtime), [])
})

test('every accepted job ends exactly once, whatever happens to it', async () => {
  const step = fc.record({
    after: fc.nat(300),
    input: fc.integer({ min: -2, max: 5 }),
    budget: fc.nat(900),
    leaves: fc.option(fc.nat(400)),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.nat(2_000), async (steps, stopAt) => {
      const runtime = virtualRuntime()
      const { queue, stop } = service(runtime, 3, 150)
      const outcomes: Promise<string>[] = []
      runtime.clock.timer(stopAt, () => outcomes.push(stop().then(() => 'stopped')))
      for (const { after, input, budget, leaves } of steps) {
        await runtime.clock.run(after)
        const controller = new AbortController()
        if (leaves !== null) runtime.clock.timer(leaves, () => controller.abort())
        outcomes.push(
          outcome(submit(queue, input, { deadline: Deadline.after(runtime.clock, budget), signal: controller.signal })),
        )
      }
      await runtime.clock.run(10_000)
      const all = await Promise.all(outcomes)
      assert.equal(all.length, steps.length + 1)
      assert.deepEqual(leaks(runtime), [])
    }),
    { numRuns: 60 },
  )
})

test('a job handed over in the same turn as the abort is canceled, not started', async () => {
  const runtime = virtualRuntime()
  const { queue, supervisor, started } = service(runtime, 4, 10)
  await runtime.clock.settle()
  const job = outcome(submit(queue, 1, { deadline: Deadline.after(runtime.clock, 1_000) }))
  supervisor.abort()
  assert.equal(await job, 'Canceled')
  assert.deepEqual(started, [])
  queue.abort()
  await supervisor.stop()
  assert.deepEqual(leaks(runtime), [])
})

test('a job that is over before it begins ends with why', async () => {
  const { clock } = virtualRuntime()
  const gone = new Job(1, { deadline: Deadline.after(clock, 10), signal: AbortSignal.abort() })
  await assert.rejects(gone.result, (error) => isKind(error, 'Canceled'))
  const late = new Job(1, { deadline: Deadline.after(clock, 0) })
  await assert.rejects(late.result, (error) => isKind(error, 'Timeout') && /the request/.test(error.message))
  assert.deepEqual([gone.ended, late.ended, late.signal.aborted, clock.pending()], [true, true, true, 0])
})

test('a job ends once: what is done cannot fail, and its signal stays quiet', async () => {
  const { clock } = virtualRuntime()
  const job = new Job<number, string>(1, { deadline: Deadline.after(clock, 10) })
  const { signal } = job
  assert.equal(job.signal, signal)
  job.done('first')
  job.done('second')
  job.cancel()
  assert.deepEqual([await job.result, signal.aborted, job.signal.aborted], ['first', false, false])
  const failed = new Job<number, string>(1, { deadline: Deadline.after(clock, 10) })
  failed.cancel()
  failed.done('too late')
  await assert.rejects(failed.result, (error) => isKind(error, 'Canceled') && error.retryAfterMs === 1_000)
  assert.equal(isKind(failed.signal.reason, 'Canceled'), true)
})

test('a worker ends when its queue is closed and empty', async () => {
  const runtime = virtualRuntime()
  const queue = new Queue<Job<number, number>>(runtime, { name: 'work', capacity: 1, overflow: 'reject' })
  queue.close()
  const { signal } = new AbortController()
  await serveJobs(
    queue,
    { name: 'worker', draining: signal, aborting: signal },
    async (input) => await Promise.resolve(input),
  )
})

test('a worker of one lane leaves the other alone, and lets go of the signal when it ends', async () => {
  const runtime = virtualRuntime()
  const shape = { name: 'work', capacity: 4, overflow: 'reject', reserved: 1 } as const
  const queue = new Queue<Job<number, number>>(runtime, shape)
  const { signal } = new AbortController()
  const handled: number[] = []
  const context = { name: 'worker', draining: signal, aborting: signal }
  const take = (input: number): Promise<number> => Promise.resolve(handled.push(input))
  const worker = serveJobs(queue, context, take, 'urgent')
  const deadline = Deadline.after(runtime.clock, 1_000)
  const normal = outcome(submit(queue, 1, { deadline }))
  await submit(queue, 2, { deadline, lane: 'urgent' })
  assert.deepEqual(handled, [2])
  queue.close()
  await worker
  assert.equal(getEventListeners(signal, 'abort').length, 0)
  await runtime.clock.run(1_000)
  assert.equal(await normal, 'Timeout')
})

test('an abort ends a worker that waits, and work without budget is refused in the name of its queue', async () => {
  const runtime = virtualRuntime()
  const queue = new Queue<Job<number, number>>(runtime, { name: 'reads', capacity: 1, overflow: 'reject' })
  const controller = new AbortController()
  const context = { name: 'worker', draining: controller.signal, aborting: controller.signal }
  const worker = serveJobs(queue, context, async (input) => await Promise.resolve(input))
  controller.abort()
  await assert.rejects(worker, (error) => isKind(error, 'Canceled'))
  const deadline = Deadline.after(runtime.clock, 0)
  await assert.rejects(
    submit(queue, 1, { deadline }),
    (error) => isKind(error, 'Timeout') && /reads/.test(error.message),
  )
  assert.equal(queue.depth, 0)
})
