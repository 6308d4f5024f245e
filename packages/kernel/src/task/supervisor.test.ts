import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Waiters, waitIn } from '../channel/waiters.ts'
import { sleep } from '../policy/sleep.ts'
import { SeededRandom } from '../random.ts'
import { leaks, virtualRuntime } from '../runtime.ts'
import { Supervisor } from './supervisor.ts'
import * as core from './supervisor-core.ts'

const options = { drainDeadlineMs: 3_000 }

test('the restart decision, as a table', () => {
  const random = new SeededRandom(1)
  const failed = (times: number): core.RestartHistory => ({ failures: new Array<number>(times).fill(0) })
  const rows: [core.RestartHistory, core.Exit, boolean, core.Decision['tag']][] = [
    [core.NO_FAILURES, 'finished', true, 'end'],
    [core.NO_FAILURES, 'canceled', true, 'end'],
    [failed(1), 'failed', true, 'restart'],
    [failed(5), 'failed', true, 'restart'],
    [failed(6), 'failed', true, 'fatal'],
    [failed(1), 'failed', false, 'end'],
    [failed(6), 'failed', false, 'end'],
    [failed(6), 'finished', true, 'end'],
  ]
  for (const [history, exit, running, expected] of rows)
    assert.equal(
      core.decide(history, exit, running, random).tag,
      expected,
      `${history.failures.length} ${exit} ${running}`,
    )
})

test('fatal exactly when more than five failures fall within sixty seconds', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(30_000), { minLength: 1, maxLength: 20 }), (gaps) => {
      let history = core.NO_FAILURES
      const times: number[] = []
      let now = 0
      for (const gap of gaps) {
        now += gap
        times.push(now)
        history = core.noteFailure(history, now)
        const recent = times.filter((at) => at > now - 60_000).length
        assert.equal(core.decide(history, 'failed', true, new SeededRandom(1)).tag === 'fatal', recent > 5)
      }
    }),
  )
})

test('a task that fails is restarted after a pause, and counted', async () => {
  const runtime = virtualRuntime()
  const supervisor = new Supervisor(runtime, options)
  let starts = 0
  supervisor.start('janitor', async ({ draining }) => {
    starts += 1
    if (starts < 3) throw new Error('not yet')
    await sleep(runtime.clock, 1e9, { signal: draining })
  })
  await runtime.clock.run(1_000)
  assert.equal(starts, 3)
  assert.equal(runtime.metrics.value('tasks_panicked_total', { kind: 'janitor' }), 2)
  assert.equal(runtime.metrics.value('tasks_spawned_total', { kind: 'janitor' }), 3)
  assert.deepEqual(await supervisor.stop(), { aborted: [], abandoned: [] })
  assert.equal(runtime.metrics.value('tasks_canceled_total', { kind: 'janitor' }), 1)
  assert.deepEqual(leaks(runtime), [])
})

test('a task that keeps failing brings the service down, and says which', async () => {
  const runtime = virtualRuntime()
  const fatal: string[] = []
  const supervisor = new Supervisor(runtime, { ...options, onFatal: (task) => void fatal.push(task) })
  supervisor.start('broken', async () => await Promise.reject(new Error('always')))
  supervisor.start('fine', async ({ draining }) => await sleep(runtime.clock, 1e9, { signal: draining }))
  await runtime.clock.run(30_000)
  assert.deepEqual(fatal, ['broken'])
  assert.equal(supervisor.shutdown.phase.value, 'stopped')
  assert.equal(runtime.metrics.value('tasks_panicked_total', { kind: 'broken' }), 6)
  assert.deepEqual(leaks(runtime), [])
})

test('a task waiting to be restarted ends when the service drains', async () => {
  const runtime = virtualRuntime()
  const supervisor = new Supervisor(runtime, options)
  supervisor.start('broken', async () => await Promise.reject(new Error('always')))
  await runtime.clock.settle()
  assert.deepEqual(await supervisor.stop(), { aborted: [], abandoned: [] })
  assert.deepEqual(leaks(runtime), [])
})

test('a straggler is aborted at the drain deadline, one that ignores it is named and left', async () => {
  const runtime = virtualRuntime()
  const supervisor = new Supervisor(runtime, options)
  const never = new Waiters<undefined>()
  supervisor.start('slow', async ({ aborting }) => await sleep(runtime.clock, 1e9, { signal: aborting }))
  supervisor.start('deaf', async () => await waitIn(never))
  const stopped = supervisor.stop()
  await runtime.clock.run(2_999)
  assert.equal(supervisor.shutdown.phase.value, 'draining')
  await runtime.clock.run(1)
  assert.equal(supervisor.shutdown.phase.value, 'aborting')
  await runtime.clock.run(1_000)
  assert.deepEqual(await stopped, { aborted: ['slow', 'deaf'], abandoned: ['deaf'] })
  assert.equal(runtime.metrics.value('tasks_aborted_total', { kind: 'slow' }), 1)
  assert.equal(runtime.metrics.value('tasks_abandoned_total', { kind: 'deaf' }), 1)
})

test('a second signal aborts at once', async () => {
  const runtime = virtualRuntime()
  const supervisor = new Supervisor(runtime, options)
  supervisor.start('slow', async ({ aborting }) => await sleep(runtime.clock, 1e9, { signal: aborting }))
  const stopped = supervisor.stop()
  supervisor.abort()
  assert.deepEqual(await stopped, { aborted: ['slow'], abandoned: [] })
  assert.equal(runtime.clock.now(), 0)
  assert.deepEqual(leaks(runtime), [])
})

test('copies of a pool are counted under one name, and nothing starts once the service drains', async () => {
  const runtime = virtualRuntime()
  const supervisor = new Supervisor(runtime, options)
  supervisor.start('worker', async ({ draining }) => await sleep(runtime.clock, 1e9, { signal: draining }), 3)
  assert.deepEqual([...supervisor.shutdown.tasks], ['worker-1', 'worker-2', 'worker-3'])
  assert.equal(runtime.metrics.value('tasks_spawned_total', { kind: 'worker' }), 3)
  await supervisor.stop()
  supervisor.start('late', async () => await Promise.resolve())
  assert.equal(runtime.metrics.value('tasks_spawned_total', { kind: 'late' }), 0)
})
