import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Waiters, waitIn } from '../channel/waiters.ts'
import { sleep } from '../clock.ts'
import { CairnError } from '../errors.ts'
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

test('a failure leaves the window after exactly sixty seconds', () => {
  const { failures } = core.noteFailure({ failures: [0, 1] }, 60_000)
  assert.deepEqual(failures, [1, 60_000])
})

test('a failed task is logged and told, waits before it runs again, and is listed with its failures meanwhile', async () => {
  const runtime = virtualRuntime()
  const crashed: string[] = []
  const supervisor = new Supervisor(runtime, { ...options, onCrash: (task) => void crashed.push(task) })
  const error = new Error('always')
  let starts = 0
  supervisor.start('broken', async () => {
    starts += 1
    await Promise.reject(error)
  })
  await runtime.clock.settle()
  assert.deepEqual([starts, crashed], [1, ['broken']])
  assert.deepEqual(runtime.log.lines, [{ level: 'error', fields: { task: 'broken', error }, message: 'task failed' }])
  const facts = runtime.topology.snapshot().filter(({ kind }) => kind === 'task')
  assert.deepEqual(facts, [{ kind: 'task', name: 'broken', facts: { failures: 1 } }])
  assert.equal(runtime.metrics.value('service_restarts_total', { kind: 'broken' }), 0)
  await runtime.clock.run(30_000)
  assert.equal(starts, 6)
  assert.equal(runtime.metrics.value('service_restarts_total', { kind: 'broken' }), 5)
  const message = 'task failed too often; the service stops'
  assert.deepEqual(runtime.log.lines.at(-1), { level: 'error', fields: { task: 'broken', error }, message })
})

test('a canceled wait ends a task only when the service drains; any other error is a failure even then', async () => {
  const runtime = virtualRuntime()
  const supervisor = new Supervisor(runtime, options)
  let starts = 0
  supervisor.start('early', async ({ draining }) => {
    starts += 1
    if (starts === 1) throw new CairnError('Canceled', 'by somebody else')
    await sleep(runtime.clock, 1e9, { signal: draining })
  })
  supervisor.start('clumsy', async ({ draining }) => {
    await sleep(runtime.clock, 1e9, { signal: draining }).catch(() => undefined)
    throw new Error('while it drained')
  })
  await runtime.clock.run(5_000)
  assert.equal(starts, 2)
  assert.deepEqual(await supervisor.stop(), { aborted: [], abandoned: [] })
  const count = (name: string, kind: string): number => runtime.metrics.value(name, { kind })
  assert.deepEqual([count('tasks_panicked_total', 'early'), count('tasks_canceled_total', 'early')], [1, 1])
  assert.deepEqual([count('tasks_panicked_total', 'clumsy'), count('tasks_canceled_total', 'clumsy')], [1, 0])
})

test('a task that returns has finished: it is not started again and counts as nothing else', async () => {
  const runtime = virtualRuntime()
  const supervisor = new Supervisor(runtime, options)
  supervisor.start('once', async () => await Promise.resolve())
  await runtime.clock.run(60_000)
  assert.equal(runtime.metrics.value('tasks_spawned_total', { kind: 'once' }), 1)
  assert.deepEqual([...supervisor.shutdown.tasks], [])
  await supervisor.stop()
  assert.deepEqual(runtime.log.lines, [])
})

test('who was left behind is named in the log', async () => {
  const runtime = virtualRuntime()
  const supervisor = new Supervisor(runtime, options)
  const never = new Waiters<undefined>()
  supervisor.start('deaf', async () => await waitIn(never), 2)
  const stopped = supervisor.stop()
  await runtime.clock.run(5_000)
  await stopped
  const message = 'tasks ignored abort and were left behind'
  assert.deepEqual(runtime.log.lines, [{ level: 'error', fields: { tasks: ['deaf-1', 'deaf-2'] }, message }])
  assert.equal(runtime.metrics.value('tasks_abandoned_total', { kind: 'deaf' }), 2)
})

test('stopping twice is stopping once', async () => {
  const runtime = virtualRuntime()
  const supervisor = new Supervisor(runtime, options)
  assert.deepEqual(leaks(runtime), ['scope supervisor'])
  supervisor.start('slow', async ({ aborting }) => await sleep(runtime.clock, 1e9, { signal: aborting }))
  const both = Promise.all([supervisor.stop(), supervisor.stop()])
  assert.equal(runtime.clock.pending(), 2)
  await runtime.clock.run(3_000)
  assert.deepEqual(await both, [
    { aborted: ['slow'], abandoned: [] },
    { aborted: ['slow'], abandoned: [] },
  ])
  assert.equal(runtime.metrics.value('tasks_aborted_total', { kind: 'slow' }), 1)
})
