import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERRORS } from '../errors.ts'
import { virtualRuntime } from '../runtime.ts'
import { Bus } from './bus.ts'
import { Config } from './config.ts'
import { Health } from './health.ts'
import { LiveTopology } from './live.ts'
import { MemoryLog } from './log.ts'
import { KERNEL_METRICS, MemoryMetrics } from './metrics.ts'
import { defineTopology } from './topology.ts'

test('an undeclared metric, a wrong type and a wrong label are defects', () => {
  const metrics = new MemoryMetrics()
  assert.throws(() => metrics.count('no_such_total'), /not declared/)
  assert.throws(() => metrics.set('busy_rejections_total', 1, { endpoint: '/o' }), /is a counter, not a gauge/)
  assert.throws(() => metrics.count('busy_rejections_total', { route: '/o' }), /has the labels \[endpoint\]/)
  assert.throws(() => metrics.count('busy_rejections_total'), /has the labels \[endpoint\]/)
})

test('series are kept apart by their labels, and histograms count and sum', () => {
  const metrics = new MemoryMetrics({
    ...KERNEL_METRICS,
    wait_seconds: { type: 'histogram', labels: [], help: 'waits' },
  })
  metrics.count('busy_rejections_total', { endpoint: '/a' })
  metrics.count('busy_rejections_total', { endpoint: '/b' }, 3)
  metrics.observe('wait_seconds', 0.5)
  metrics.observe('wait_seconds', 1.5)
  assert.equal(metrics.value('busy_rejections_total', { endpoint: '/a' }), 1)
  assert.equal(metrics.value('busy_rejections_total', { endpoint: '/b' }), 3)
  assert.deepEqual([metrics.value('wait_seconds_count'), metrics.value('wait_seconds_sum')], [2, 2])
})

test('every metric the errors name exists in a table or belongs to a service', () => {
  const services = [
    'repair_wait_seconds',
    'repair_skipped_total',
    'commit_cas_fail_total',
    'storage_backoff_total',
    'edge_rejects_total',
    'rejected_total',
    'integrity_failures_total',
  ]
  for (const [kind, { metric }] of Object.entries(ERRORS))
    assert.ok(metric === '' || metric in KERNEL_METRICS || services.includes(metric), `${kind}: ${metric}`)
})

test('ready means every condition is met, and each says why not', async () => {
  const health = new Health(['listening', 'store'])
  assert.equal(health.readiness.value.ready, false)
  health.meet('listening')
  const ready = health.readiness.until(({ ready: holds }) => holds)
  health.meet('store')
  assert.equal((await ready).ready, true)
  health.miss('store', 'the disk is full; delete something')
  assert.deepEqual(health.readiness.value.conditions['store'], {
    ready: false,
    why: 'the disk is full; delete something',
  })
  assert.throws(() => health.meet('unknown'), /not declared/)
  const { version } = health.readiness
  health.miss('store', 'the disk is full; delete something')
  assert.equal(health.readiness.version, version, 'saying the same again wakes nobody')
})

test('the first fatal task is the one remembered', () => {
  const health = new Health([])
  health.fail('committer', 'EIO')
  health.fail('pruner', 'because of it')
  assert.deepEqual(health.fatal, { task: 'committer', why: 'EIO' })
})

test('a configuration is swapped whole', () => {
  const config = new Config({ values: { a: 1, b: 1 }, origins: { a: 'default', b: 'default' } })
  const held = config.current
  config.swap({ values: { a: 2, b: 2 }, origins: { a: 'cairn.toml:1:1', b: 'default' } })
  assert.deepEqual(
    [held, config.current],
    [
      { a: 1, b: 1 },
      { a: 2, b: 2 },
    ],
  )
  assert.equal(config.snapshot.version, 1)
})

const TOPOLOGY = defineTopology({
  service: 'registry',
  tasks: {},
  queues: {},
  broadcasts: { events: { capacity: 2, from: [], to: [], does: 'What happened.' } },
  watches: {},
  owners: {},
  timeouts: {},
})

test('the bus carries typed topics, and what every service says about itself', async () => {
  interface Topics {
    'registry.updated': { version: number }
  }
  const bus = new Bus<Topics>(virtualRuntime(), TOPOLOGY)
  using subscription = bus.subscribe()
  const updated = { topic: 'registry.updated', body: { version: 7 } } as const
  const shutdown = { topic: 'kernel.shutdown', body: { service: 'registry' } } as const
  bus.publish(updated)
  bus.publish(shutdown)
  assert.deepEqual(await subscription.recv(), { tag: 'value', value: updated })
  assert.deepEqual(await subscription.recv(), { tag: 'value', value: shutdown })
  bus.close()
})

test('who comes back to the bus goes on where they were, as far as it is kept', () => {
  const bus = new Bus<{ tick: number }>(virtualRuntime(), TOPOLOGY)
  for (const body of [1, 2, 3]) bus.publish({ topic: 'tick', body })
  assert.deepEqual(bus.kept(), { oldest: 1, newest: 3 })
  using back = bus.subscribe(2)
  assert.deepEqual(back.tryReceive(), { tag: 'value', value: { topic: 'tick', body: 3 } })
  assert.equal(back.place, 3)
  assert.equal(back.tryReceive(), undefined)
  using late = bus.subscribe(0)
  assert.deepEqual([late.tryReceive(), late.place], [{ tag: 'lagged', missed: 1 }, 1])
  using early = bus.subscribe(99)
  assert.deepEqual([early.tryReceive(), early.place], [undefined, 3])
  bus.close()
})

test('a bus belongs to its service, and each start of it has a life of its own', () => {
  const [one, other] = [1, 2].map((seed) => new Bus(virtualRuntime(seed), TOPOLOGY))
  assert.equal(one?.service, 'registry')
  assert.match(one.life, /^[0-9a-z]{4,7}$/)
  assert.notEqual(one.life, other?.life)
})

test('after the bus is closed nobody hears it', async () => {
  const runtime = virtualRuntime()
  const bus = new Bus<{ tick: number }>(runtime, TOPOLOGY)
  using subscription = bus.subscribe()
  bus.close()
  bus.publish({ topic: 'tick', body: 1 })
  assert.deepEqual(await subscription.recv(), { tag: 'closed' })
  assert.equal(runtime.topology.size, 0)
})

test('who asked hears when a service becomes ready and when it is so no longer, not of anything between', () => {
  const flips: boolean[] = []
  const health = new Health(['listening', 'store'], ({ ready }) => flips.push(ready))
  assert.deepEqual(health.readiness.value, {
    ready: false,
    missing: ['listening', 'store'],
    conditions: { listening: { ready: false, why: 'starting' }, store: { ready: false, why: 'starting' } },
  })
  health.miss('store', 'recovering')
  assert.deepEqual(health.readiness.value.conditions['store'], { ready: false, why: 'recovering' })
  health.meet('store')
  assert.deepEqual(flips, [])
  assert.deepEqual(health.readiness.value.conditions['store'], { ready: true, why: '' })
  health.meet('listening')
  health.miss('store', '')
  assert.equal(health.readiness.value.ready, false, 'a reason that is the same is no reason to stay')
  health.miss('listening', 'closing')
  assert.deepEqual(flips, [true, false])
})

test('what is alive is listed in order of kind and name', () => {
  const live = new LiveTopology(() => undefined)
  const add = (kind: 'queue' | 'task', name: string) => live.add({ kind, name, facts: () => ({ depth: 1 }) })
  const unlist = [add('task', 'a'), add('queue', 'b'), add('queue', 'a')]
  assert.deepEqual([live.size, [...live].map(({ name }) => name)], [3, ['a', 'b', 'a']])
  assert.deepEqual(live.snapshot(), [
    { kind: 'queue', name: 'a', facts: { depth: 1 } },
    { kind: 'queue', name: 'b', facts: { depth: 1 } },
    { kind: 'task', name: 'a', facts: { depth: 1 } },
  ])
  for (const leave of unlist) leave()
  assert.equal(live.size, 0)
})

test('a log kept in memory has every line in its order', () => {
  const log = new MemoryLog()
  for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]({ at: level }, 'said')
  for (const level of ['error', 'warn', 'info', 'debug'] as const) log[level]({}, 'again')
  assert.deepEqual(
    log.lines.map(({ level, fields, message }) => `${level} ${String(fields['at'])} ${message}`),
    [
      'debug debug said',
      'info info said',
      'warn warn said',
      'error error said',
      'error undefined again',
      'warn undefined again',
      'info undefined again',
      'debug undefined again',
    ],
  )
})
