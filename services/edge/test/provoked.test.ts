/**
 * Every metric the service has, each counted by a story that provokes it; every reason to refuse, every bound and every
 * error the design notes name, by its metric. A metric without a row fails the last tests.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { ERRORS, type ErrorKind, KERNEL_METRICS, type Labels } from '@cairn/kernel'
import { INGRESS_METRICS } from '@cairn/platform'
import { REJECT_REASONS } from '../src/errors.ts'
import { EDGE_METRICS } from '../src/metrics.ts'
import { EDGE_TOPOLOGY } from '../src/topology.ts'
import { crash, limits, overload, type Reading, refusals, type Story, traffic } from './provoking.ts'

type MetricName = keyof typeof EDGE_METRICS | keyof typeof INGRESS_METRICS | keyof typeof KERNEL_METRICS

const UP = { route: 'up' }

const PROVOKED: readonly (readonly [MetricName, Labels, Story])[] = [
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

/** What this service cannot be made to count in virtual time, and the test of the layer below that does. */
const ELSEWHERE: Readonly<Partial<Record<MetricName, string>>> = {
  tasks_abandoned_total: 'packages/kernel/src/task/supervisor.test.ts',
  breaker_open_total: 'packages/kernel/src/policy/breaker.test.ts',
  breaker_state: 'packages/kernel/src/policy/breaker.test.ts',
  internal_errors_total: 'packages/platform/src/http/answers.test.ts',
  open_connections: 'node/test/storage-curl.test.ts',
  connections_refused_total: 'packages/platform/src/http/connections.test.ts',
  tls_handshake_failures_total: 'packages/platform/src/http/node-listener.test.ts',
}

const told = new Map<Story, Promise<Reading>>()

describe('what a story provokes is counted', () => {
  for (const [name, labels, story] of PROVOKED) {
    const shown = Object.entries(labels).map(([label, value]) => `${label}=${value}`)
    test(`${name} ${shown.join(' ')}`, async () => {
      const reading = told.get(story) ?? story()
      told.set(story, reading)
      assert.ok((await reading)(name, labels) > 0)
    })
  }
})

const named = new Set<string>(PROVOKED.map(([name]) => name))

function has(name: string, labels: Labels = {}): boolean {
  return PROVOKED.some(
    ([each, own]) => each === name && Object.entries(labels).every(([label, value]) => own[label] === value),
  )
}

test('every metric has a story, or a test where it is counted', () => {
  const all = Object.keys({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...EDGE_METRICS })
  assert.deepEqual(
    all.filter((name) => !named.has(name) && !(name in ELSEWHERE)),
    [],
  )
  for (const [name, file] of Object.entries(ELSEWHERE)) {
    assert.ok(!named.has(name), `${name} has a story here`)
    const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    assert.ok(text.includes(name), `${file} does not mention ${name}`)
  }
})

test('every reason to refuse is provoked', () => {
  for (const reason of REJECT_REASONS) assert.ok(has('edge_rejects_total', { reason }), reason)
})

test('every queue and broadcast is filled until it loses something', () => {
  const { queues, broadcasts } = EDGE_TOPOLOGY
  for (const queue of Object.keys({ ...queues, ...broadcasts })) assert.ok(has('queue_dropped_total', { queue }), queue)
})

test('every error the design notes name for the edge is provoked', () => {
  const kinds: readonly ErrorKind[] = ['Busy', 'Timeout', 'Canceled', 'Lagging', 'RejectPolicy']
  for (const kind of kinds) assert.ok(has(ERRORS[kind].metric), `${kind}: ${ERRORS[kind].metric}`)
})
