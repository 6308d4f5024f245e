import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Broadcast, KERNEL_METRICS, MemoryMetrics, type MetricTable, Queue } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import { PROCESS_METRICS, ProcessMetrics, PrometheusMetrics } from './prometheus-metrics.ts'

const TABLE = {
  ...KERNEL_METRICS,
  ...PROCESS_METRICS,
  fill_seconds: { type: 'histogram', labels: ['result'], buckets: [0.1, 1], help: 'Time of a fill.' },
  plain_total: { type: 'counter', labels: [], help: 'A counter without labels.' },
} as const satisfies MetricTable

/** The samples of an exposition, by series as written. */
async function samples(metrics: PrometheusMetrics): Promise<Map<string, number>> {
  const lines = (await metrics.exposition()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

test('a metric with a label of that name is refused: it would say another service than its own', () => {
  const calls = { type: 'histogram', labels: ['service'], buckets: [1], help: 'Calls.' } as const
  assert.throws(() => new PrometheusMetrics('edge', { calls_seconds: calls }), /calls_seconds.*service/)
})

test('every series carries its service, and every declared metric its help and type', async () => {
  const metrics = new PrometheusMetrics('edge', TABLE)
  metrics.count('plain_total')
  metrics.count('busy_rejections_total', { endpoint: '/a/:b' }, 2)
  metrics.set('breaker_state', 1, { target: 'storage', state: 'open' })
  metrics.observe('fill_seconds', 0.5, { result: 'ok' })
  const text = await metrics.exposition()
  for (const [name, { type, help }] of Object.entries(TABLE)) {
    assert.ok(text.includes(`# HELP ${name} ${help}`), name)
    assert.ok(text.includes(`# TYPE ${name} ${type}`), name)
  }
  for (const series of (await samples(metrics)).keys()) assert.match(series, /service="edge"/)
  const found = await samples(metrics)
  assert.equal(found.get('plain_total{service="edge"}'), 1)
  assert.equal(found.get('busy_rejections_total{endpoint="/a/:b",service="edge"}'), 2)
  assert.equal([...found].find(([series]) => /^fill_seconds_bucket.*le="1"/.test(series))?.[1], 1)
  assert.equal([...found].find(([series]) => /^fill_seconds_bucket.*le="0.1"/.test(series))?.[1], 0)
  assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/)
})

test('two services keep apart', async () => {
  const [edge, index] = [new PrometheusMetrics('edge', TABLE), new PrometheusMetrics('index', TABLE)]
  edge.count('plain_total', {}, 5)
  assert.equal((await samples(index)).get('plain_total{service="index"}'), 0)
})

test('a name, type or label that is not declared is refused exactly as in memory', () => {
  for (const metrics of [new PrometheusMetrics('edge', TABLE), new MemoryMetrics(TABLE)]) {
    assert.throws(() => metrics.count('no_such_total'), TypeError)
    assert.throws(() => metrics.set('plain_total', 1), TypeError)
    assert.throws(() => metrics.count('plain_total', { path: '/secret' }), TypeError)
    assert.throws(() => metrics.observe('fill_seconds', 1), TypeError)
  }
})

test('queues are read when scraped: depth, what they lost, and nothing once they are closed', async () => {
  const runtime = virtualRuntime()
  const metrics = new PrometheusMetrics('storage', TABLE)
  metrics.readQueues(runtime.topology)
  const work = new Queue<number>(runtime, { name: 'work', capacity: 2, overflow: 'reject' })
  const events = new Queue<number>(runtime, { name: 'events', capacity: 1, overflow: 'drop-oldest' })
  for (const queue of [work, events]) for (let item = 0; item < 3; item += 1) queue.trySend(item)
  const told = new Broadcast<number>(runtime, { name: 'told', capacity: 1 })
  using slow = told.subscribe()
  told.publish(1)
  told.publish(2)
  slow.tryReceive()
  const first = await samples(metrics)
  assert.equal(first.get('queue_dropped_total{queue="told",service="storage"}'), 1)
  assert.ok(!first.has('queue_depth{queue="told",service="storage"}'))
  assert.equal(first.get('queue_depth{queue="work",service="storage"}'), 2)
  assert.equal(first.get('queue_dropped_total{queue="work",service="storage"}'), 1)
  assert.equal(first.get('queue_depth{queue="events",service="storage"}'), 1)
  assert.equal(first.get('queue_dropped_total{queue="events",service="storage"}'), 2)
  work.tryReceive()
  const second = await samples(metrics)
  assert.equal(second.get('queue_depth{queue="work",service="storage"}'), 1)
  assert.equal(second.get('queue_dropped_total{queue="work",service="storage"}'), 1)
  work.abort()
  events.abort()
  told.close()
  assert.ok(![...(await samples(metrics)).keys()].some((series) => series.startsWith('queue_depth')))
  assert.equal(runtime.topology.size, 0)
})

test('the process is measured until closed, and leaves nothing behind', async () => {
  const runtime = virtualRuntime()
  const metrics = new PrometheusMetrics('node', TABLE)
  const measured = new ProcessMetrics(runtime, metrics)
  const before = await samples(metrics)
  assert.ok((before.get('process_resident_memory_bytes{service="node"}') ?? 0) > 1_000_000)
  assert.ok(before.has('nodejs_eventloop_lag_seconds{quantile="0.99",service="node"}'))
  assert.equal(runtime.topology.size, 1)
  await measured.close()
  assert.equal(runtime.topology.size, 0)
  metrics.set('process_resident_memory_bytes', 1)
  assert.equal((await samples(metrics)).get('process_resident_memory_bytes{service="node"}'), 1)
})
