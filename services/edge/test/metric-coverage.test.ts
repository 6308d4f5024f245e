/**
 * Every metric the service has, each counted by a story that provokes it; every reason to refuse, every bound and every
 * error the design notes name, by its metric. A metric without a row fails the last tests.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BROKEN_BELOW,
  hasRow,
  type MetricRow,
  metricCoverageSuite,
} from '../../../verify/virtual/metric-coverage-suite.ts'
import { REJECT_REASONS } from '../src/errors.ts'
import { EDGE_METRICS } from '../src/metrics.ts'
import { EDGE_TOPOLOGY } from '../src/topology.ts'
import { crash, limits, overload, refusals, traffic } from './metric-scenarios.ts'

const UP = { route: 'up' }

const METRIC_ROWS: readonly MetricRow[] = [
  ['edge_cache_hits_total', { kind: 'memory' }, traffic],
  ['edge_cache_hits_total', { kind: 'storage' }, traffic],
  ['edge_cache_hits_total', { kind: 'cas' }, traffic],
  ['edge_cache_hits_total', { kind: 'pack' }, traffic],
  ['edge_cache_misses_total', { cause: 'cold' }, traffic],
  ['edge_cache_misses_total', { cause: 'stale' }, traffic],
  ['edge_cache_misses_total', { cause: 'bypass' }, traffic],
  ['edge_range_requests_total', { result: '206' }, traffic],
  ['edge_range_requests_total', { result: '416' }, traffic],
  ['edge_live_fill_attempts_total', UP, traffic],
  ['edge_live_fill_success_total', UP, traffic],
  ['edge_fill_followers_total', UP, traffic],
  ['fill_latency_seconds', UP, traffic],
  ['edge_cas_writes_total', { status: 'ok' }, traffic],
  ['edge_cas_writes_total', { status: 'dedup' }, traffic],
  ['edge_cas_writes_total', { status: 'error' }, crash],
  ['edge_cas_bytes', {}, traffic],
  ['edge_cas_entries', {}, traffic],
  ['edge_cas_evictions_total', {}, traffic],
  ['edge_bytes_out_total', UP, traffic],
  ['edge_bytes_in_total', UP, traffic],
  ['edge_packs', { state: 'mounted' }, traffic],
  ['edge_packs', { state: 'failed' }, traffic],
  ['edge_invalidations_total', UP, traffic],
  ['edge_rejects_total', { reason: 'amnesia' }, limits],
  ['edge_rejects_total', { reason: 'not_allowed' }, refusals],
  ['edge_rejects_total', { reason: 'body_cap' }, refusals],
  ['edge_rejects_total', { reason: 'decompress_cap' }, refusals],
  ['edge_rejects_total', { reason: 'ratio_cap' }, refusals],
  ['edge_rejects_total', { reason: 'timeout' }, refusals],
  ['edge_rejects_total', { reason: 'rate_limit' }, overload],
  ['edge_rejects_total', { reason: 'invalid_range' }, refusals],
  ['edge_rejects_total', { reason: 'etag_invalid' }, refusals],
  ['edge_rejects_total', { reason: 'draining' }, crash],
  ['edge_rejects_total', { reason: 'upstream' }, refusals],
  ['http_requests_total', { route: '/edge/assets/b3/:hex', method: 'GET', status: '200' }, traffic],
  ['request_latency_seconds', { route: '/edge/assets/b3/:hex', method: 'GET' }, traffic],
  ['inflight_requests', { route: '/edge/assets/u/:route/*' }, traffic],
  ['tasks_spawned_total', { kind: 'fill-worker' }, traffic],
  ['decompress_reject_total', { reason: 'cap' }, refusals],
  ['decompress_reject_total', { reason: 'format' }, refusals],
  ['decompress_reject_total', { reason: 'truncated' }, refusals],
  ['quota_exhaustions_total', { kind: 'body_bytes' }, refusals],
  ['quota_exhaustions_total', { kind: 'rps' }, limits],
  ['quota_exhaustions_total', { kind: 'inflight' }, overload],
  ['quota_exhaustions_total', { kind: 'streams' }, overload],
  ['rejected_total', { reason: 'body_cap' }, refusals],
  ['auth_failures_total', { kind: 'macaroon' }, refusals],
  ['busy_rejections_total', { endpoint: '/edge/assets/u/:route/*' }, overload],
  ['queue_depth', { queue: 'work' }, overload],
  ['queue_dropped_total', { queue: 'work' }, overload],
  ['queue_dropped_total', { queue: 'events' }, limits],
  ['bus_lagged_total', { topic: 'events', consumer: 'listener' }, limits],
  ['io_timeouts_total', { op: 'fill' }, refusals],
  ['io_timeouts_total', { op: 'request' }, overload],
  ['backoff_retries_total', { op: 'live_fill', result: 'failed' }, refusals],
  ['tasks_panicked_total', { kind: 'fill-worker' }, crash],
  ['service_restarts_total', { kind: 'fill-worker' }, crash],
  ['tasks_canceled_total', { kind: 'cas-janitor' }, crash],
  ['tasks_aborted_total', { kind: 'fill-worker' }, crash],
]

metricCoverageSuite({
  metrics: EDGE_METRICS,
  topology: EDGE_TOPOLOGY,
  errors: ['Busy', 'Timeout', 'Canceled', 'Lagging', 'RejectPolicy'],
  rows: METRIC_ROWS,
  elsewhere: BROKEN_BELOW,
})

test('every reason to refuse is triggered', () => {
  for (const reason of REJECT_REASONS) assert.ok(hasRow(METRIC_ROWS, 'edge_rejects_total', { reason }), reason)
})
