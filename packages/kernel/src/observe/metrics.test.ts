import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkMetricUse, KERNEL_METRICS, MemoryMetrics } from './metrics.ts'

/** Type and labels of each: dashboards and alerts depend on them. */
const CONTRACT = {
  queue_depth: 'gauge queue',
  queue_dropped_total: 'counter queue',
  busy_rejections_total: 'counter endpoint',
  bus_lagged_total: 'counter topic consumer',
  tasks_spawned_total: 'counter kind',
  service_restarts_total: 'counter kind',
  tasks_canceled_total: 'counter kind',
  tasks_aborted_total: 'counter kind',
  tasks_panicked_total: 'counter kind',
  tasks_abandoned_total: 'counter kind',
  io_timeouts_total: 'counter op',
  backoff_retries_total: 'counter op result',
  breaker_open_total: 'counter target',
  breaker_state: 'gauge target state',
  internal_errors_total: 'counter kind',
}

test('what dashboards and alerts depend on has not moved', () => {
  const rows = Object.entries(KERNEL_METRICS).map(([name, { type, labels }]) => [name, `${type} ${labels.join(' ')}`])
  assert.deepEqual(Object.fromEntries(rows), CONTRACT)
})

test('a label too many is a defect, and the message lists both sides', () => {
  const labels = { topic: 'a', consumer: 'b', more: 'c' }
  assert.throws(() => checkMetricUse(KERNEL_METRICS, 'bus_lagged_total', 'counter', labels), {
    message: 'The metric bus_lagged_total has the labels [topic, consumer], not [topic, consumer, more].',
  })
  assert.throws(() => new MemoryMetrics().observe('queue_depth', 1, { queue: 'a' }), /is a gauge, not a histogram/)
})

test('a series is the same whatever order its labels are given in, and another when two labels swap values', () => {
  const metrics = new MemoryMetrics()
  metrics.count('bus_lagged_total', { topic: 'a', consumer: 'b' })
  metrics.count('bus_lagged_total', { consumer: 'b', topic: 'a' })
  assert.equal(metrics.value('bus_lagged_total', { topic: 'a', consumer: 'b' }), 2)
  assert.equal(metrics.value('bus_lagged_total', { topic: 'b', consumer: 'a' }), 0)
})
