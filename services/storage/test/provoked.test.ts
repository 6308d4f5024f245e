/**
 * Every metric the service has, each counted by a story that provokes it; every bound, by the metric that counts what
 * went over it; every error the design notes name, by its metric. A metric without a row fails the last tests.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { ERRORS, type ErrorKind, KERNEL_METRICS, type Labels } from '@cairn/kernel'
import { INGRESS_METRICS } from '@cairn/platform'
import { STORAGE_METRICS } from '../src/metrics.ts'
import { STORAGE_TOPOLOGY } from '../src/topology.ts'
import {
  crash,
  damage,
  lag,
  overload,
  type Reading,
  refusals,
  type Story,
  slowCopy,
  strangers,
  traffic,
  upkeep,
} from './provoking.ts'

type MetricName = keyof typeof STORAGE_METRICS | keyof typeof INGRESS_METRICS | keyof typeof KERNEL_METRICS

const PROVOKED: readonly (readonly [MetricName, Labels, Story])[] = [
  ['storage_get_latency_seconds', { route: '/o/:address', range: 'whole' }, traffic],
  ['storage_get_latency_seconds', { route: '/o/:address', range: 'single' }, traffic],
  ['storage_get_latency_seconds', { route: '/o/:address', range: 'multiple' }, traffic],
  ['storage_put_latency_seconds', { route: '/o' }, traffic],
  ['storage_put_latency_seconds', { route: '/o/:address' }, traffic],
  ['storage_put_latency_seconds', { route: '/m/:address' }, traffic],
  ['bytes_in_total', { route: '/o' }, traffic],
  ['bytes_in_total', { route: '/o/:address' }, traffic],
  ['bytes_in_total', { route: '/c' }, traffic],
  ['bytes_in_total', { route: '/c/:address' }, traffic],
  ['bytes_out_total', { route: '/o/:address' }, traffic],
  ['bytes_out_total', { route: '/c/:address' }, traffic],
  ['chunks_read_total', { tier: 'memory' }, traffic],
  ['chunks_read_total', { tier: 'disk' }, traffic],
  ['chunks_written_total', { tier: 'disk' }, traffic],
  ['hedged_reads_total', {}, slowCopy],
  ['peer_auth_fail_total', {}, strangers],
  ['integrity_fail_total', { reason: 'header_mismatch' }, strangers],
  ['rf_target', {}, traffic],
  ['rf_observed', {}, traffic],
  ['repair_wait_seconds', {}, traffic],
  ['repair_bytes_total', { phase: 'planned' }, traffic],
  ['repair_bytes_total', { phase: 'executed' }, traffic],
  ['repair_seconds_total', { phase: 'executed' }, traffic],
  ['scrub_chunks_total', { result: 'sound' }, traffic],
  ['http_requests_total', { route: '/o', method: 'POST', status: '201' }, traffic],
  ['request_latency_seconds', { route: '/o', method: 'POST' }, traffic],
  ['inflight_requests', { route: '/o/:address' }, traffic],
  ['tasks_spawned_total', { kind: 'get-worker' }, traffic],
  ['swept_chunks_total', {}, upkeep],
  ['compacted_bytes_total', {}, upkeep],
  ['integrity_fail_total', { reason: 'checksum' }, damage],
  ['scrub_chunks_total', { result: 'damaged' }, damage],
  ['repair_skipped_total', { reason: 'no_copy' }, damage],
  ['repair_skipped_total', { reason: 'drive' }, damage],
  ['integrity_fail_total', { reason: 'decompress_cap' }, refusals],
  ['decompress_reject_total', { reason: 'cap' }, refusals],
  ['decompress_reject_total', { reason: 'format' }, refusals],
  ['decompress_reject_total', { reason: 'truncated' }, refusals],
  ['quota_exhaustions_total', { kind: 'body_bytes' }, refusals],
  ['quota_exhaustions_total', { kind: 'rps' }, refusals],
  ['rejected_total', { reason: 'payload_too_large' }, refusals],
  ['auth_failures_total', { kind: 'macaroon' }, refusals],
  ['auth_failures_total', { kind: 'scope' }, refusals],
  ['auth_failures_total', { kind: 'expired' }, refusals],
  ['auth_failures_total', { kind: 'nbf' }, refusals],
  ['auth_failures_total', { kind: 'aud' }, refusals],
  ['quota_exhaustions_total', { kind: 'inflight' }, overload],
  ['quota_exhaustions_total', { kind: 'streams' }, overload],
  ['busy_rejections_total', { endpoint: '/o' }, overload],
  ['queue_depth', { queue: 'work' }, overload],
  ['queue_dropped_total', { queue: 'work' }, overload],
  ['io_timeouts_total', { op: 'read' }, overload],
  ['io_timeouts_total', { op: 'write' }, overload],
  ['io_timeouts_total', { op: 'request' }, overload],
  ['queue_depth', { queue: 'repair' }, lag],
  ['queue_dropped_total', { queue: 'repair' }, lag],
  ['queue_dropped_total', { queue: 'events' }, lag],
  ['bus_lagged_total', { topic: 'events', consumer: 'listener' }, lag],
  ['repair_skipped_total', { reason: 'full' }, lag],
  ['tasks_panicked_total', { kind: 'drive-watcher' }, crash],
  ['service_restarts_total', { kind: 'drive-watcher' }, crash],
  ['tasks_canceled_total', { kind: 'sweeper' }, crash],
  ['tasks_aborted_total', { kind: 'put-worker' }, crash],
]

/** What this service cannot be made to count in virtual time, and the test of the layer below that does. */
const ELSEWHERE: Readonly<Partial<Record<MetricName, string>>> = {
  tasks_abandoned_total: 'packages/kernel/src/task/supervisor.test.ts',
  backoff_retries_total: 'packages/kernel/src/policy/retry.test.ts',
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
  const all = Object.keys({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...STORAGE_METRICS })
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

test('every queue and broadcast is filled until it loses something', () => {
  const { queues, broadcasts } = STORAGE_TOPOLOGY
  for (const queue of Object.keys({ ...queues, ...broadcasts })) assert.ok(has('queue_dropped_total', { queue }), queue)
})

test('every error the design notes name for storage is provoked', () => {
  const kinds: readonly ErrorKind[] = ['Busy', 'Timeout', 'Canceled', 'Lagging', 'Paced', 'Overflow']
  for (const kind of kinds) assert.ok(has(ERRORS[kind].metric), `${kind}: ${ERRORS[kind].metric}`)
})
