/**
 * Every metric the service has, each counted by a story that provokes it; every bound, by the metric that counts what
 * went over it; every error the design notes name, by its metric. A metric without a row fails the last tests.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { ERRORS, type ErrorKind, KERNEL_METRICS, type Labels } from '@cairn/kernel'
import { INGRESS_METRICS } from '@cairn/platform'
import { slotOf } from '../src/domain/target-slot.ts'
import { INDEX_METRICS } from '../src/metrics.ts'
import { INDEX_TOPOLOGY } from '../src/topology.ts'
import { crash, lag, overload, type Reading, refusals, type Story, telling, traffic, trouble } from './provoking.ts'

type MetricName = keyof typeof INDEX_METRICS | keyof typeof INGRESS_METRICS | keyof typeof KERNEL_METRICS

const PEER = slotOf('peer-0')

const PROVOKED: readonly (readonly [MetricName, Labels, Story])[] = [
  ['resolve_latency_seconds', {}, traffic],
  ['index_dht_lookup_ms', {}, traffic],
  ['index_resolves_total', { type: 'name', source: 'registry' }, traffic],
  ['index_resolves_total', { type: 'name', source: 'cache' }, traffic],
  ['index_resolves_total', { type: 'cid', source: 'db' }, traffic],
  ['index_resolves_total', { type: 'cid', source: 'dht' }, traffic],
  ['index_cache_hits_total', {}, traffic],
  ['index_cache_misses_total', {}, traffic],
  ['index_cache_size', {}, traffic],
  ['index_providers_returned', { class: 'region_match' }, traffic],
  ['index_providers_returned', { class: 'fresh' }, traffic],
  ['index_providers_returned', { class: 'any' }, traffic],
  ['index_providers_returned', { class: 'unverified' }, traffic],
  ['index_provider_set_changes_total', {}, traffic],
  ['index_integrity_fail_total', { stage: 'cid' }, traffic],
  ['dht_errors_total', { kind: 'not_found' }, traffic],
  ['dht_hedged_requests_total', { result: 'win' }, traffic],
  ['dht_hedged_requests_total', { result: 'lose' }, traffic],
  ['dht_hedged_requests_total', { result: 'tie' }, traffic],
  ['dht_records_missing_total', {}, traffic],
  ['announce_records_total', { result: 'accepted' }, traffic],
  ['announce_records_total', { result: 'refused' }, traffic],
  ['announce_records_total', { result: 'unreachable' }, traffic],
  ['provider_records_total', { state: 'accepted' }, traffic],
  ['provider_records_total', { state: 'malformed' }, traffic],
  ['index_announced_objects', {}, traffic],
  ['index_pins', {}, traffic],
  ['index_reindex_total', { result: 'found' }, traffic],
  ['index_reindex_total', { result: 'absent' }, traffic],
  ['index_reindex_total', { result: 'failed' }, traffic],
  ['amnesia_mode', { status: 'off' }, traffic],
  ['http_requests_total', { route: '/resolve/:key', method: 'GET', status: '200' }, traffic],
  ['request_latency_seconds', { route: '/resolve/:key', method: 'GET' }, traffic],
  ['tasks_spawned_total', { kind: 'resolver-worker' }, traffic],
  ['resolve_deadline_hit', {}, trouble],
  ['io_timeouts_total', { op: 'lookup' }, trouble],
  ['io_timeouts_total', { op: 'request' }, trouble],
  ['backoff_retries_total', { op: 'dht', result: 'ok' }, trouble],
  ['backoff_retries_total', { op: 'dht', result: 'failed' }, trouble],
  ['dht_errors_total', { kind: 'io' }, trouble],
  ['dht_errors_total', { kind: 'timeout' }, trouble],
  ['dht_errors_total', { kind: 'breaker' }, trouble],
  ['breaker_open_total', { target: PEER }, trouble],
  ['breaker_state', { target: PEER, state: 'open' }, trouble],
  ['decompress_reject_total', { reason: 'cap' }, refusals],
  ['decompress_reject_total', { reason: 'format' }, refusals],
  ['decompress_reject_total', { reason: 'truncated' }, refusals],
  ['quota_exhaustions_total', { kind: 'body_bytes' }, refusals],
  ['quota_exhaustions_total', { kind: 'rps' }, refusals],
  ['quota_exhaustions_total', { kind: 'ip' }, refusals],
  ['rejected_total', { reason: 'body_cap' }, refusals],
  ['auth_failures_total', { kind: 'macaroon' }, refusals],
  ['auth_failures_total', { kind: 'scope' }, refusals],
  ['quota_exhaustions_total', { kind: 'inflight' }, overload],
  ['quota_exhaustions_total', { kind: 'streams' }, overload],
  ['busy_rejections_total', { endpoint: '/resolve/:key' }, overload],
  ['admission_rejections_total', { reason: 'queue' }, overload],
  ['admission_rejections_total', { reason: 'route' }, overload],
  ['admission_rejections_total', { reason: 'quota' }, overload],
  ['admission_rejections_total', { reason: 'wait' }, overload],
  ['admission_inflight', { stage: 'waiting' }, overload],
  ['admission_inflight', { stage: 'working' }, overload],
  ['inflight_requests', { route: '/resolve/:key' }, overload],
  ['queue_depth', { queue: 'work' }, overload],
  ['queue_dropped_total', { queue: 'work' }, overload],
  ['queue_dropped_total', { queue: 'cache_writes' }, overload],
  ['queue_dropped_total', { queue: 'reindex' }, overload],
  ['queue_dropped_total', { queue: 'facets' }, overload],
  ['index_cache_writes_lost_total', {}, overload],
  ['queue_dropped_total', { queue: 'events' }, lag],
  ['bus_lagged_total', { topic: 'events', consumer: 'listener' }, lag],
  ['tasks_panicked_total', { kind: 'announcer' }, crash],
  ['service_restarts_total', { kind: 'announcer' }, crash],
  ['tasks_canceled_total', { kind: 'prefetcher' }, crash],
  ['tasks_aborted_total', { kind: 'resolver-worker' }, crash],
  ['provider_announce_total', { result: 'accepted' }, telling],
  ['provider_announce_total', { result: 'refused' }, telling],
  ['provider_announce_total', { result: 'failed' }, telling],
  ['amnesia_mode', { status: 'on' }, crash],
  ['amnesia_purge_total', { kind: 'cache' }, crash],
]

/** What this service by itself cannot be made to count in virtual time, and the test that provokes it. */
const ELSEWHERE: Readonly<Partial<Record<MetricName, string>>> = {
  tasks_abandoned_total: 'packages/kernel/src/task/supervisor.test.ts',
  internal_errors_total: 'packages/platform/src/http/answers.test.ts',
  open_connections: 'node/test/storage-curl.test.ts',
  connections_refused_total: 'packages/platform/src/http/connections.test.ts',
  index_registry_checks_total: 'verify/chaos/index/counted.test.ts',
  index_registry_refused_total: 'verify/chaos/index/counted.test.ts',
  index_registry_version: 'verify/chaos/index/counted.test.ts',
  index_registry_entries: 'verify/chaos/index/counted.test.ts',
  provider_republish_total: 'verify/chaos/index/counted.test.ts',
  provider_requests_total: 'verify/chaos/index/counted.test.ts',
  dht_lookup_hops_histogram: 'verify/chaos/index/counted.test.ts',
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
  const all = Object.keys({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...INDEX_METRICS })
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
  const { queues, broadcasts } = INDEX_TOPOLOGY
  for (const queue of Object.keys({ ...queues, ...broadcasts })) assert.ok(has('queue_dropped_total', { queue }), queue)
})

test('every error the design notes name for the index is provoked', () => {
  const kinds: readonly ErrorKind[] = ['Busy', 'Timeout', 'BreakerOpen', 'Canceled', 'Lagging']
  for (const kind of kinds) assert.ok(has(ERRORS[kind].metric), `${kind}: ${ERRORS[kind].metric}`)
})
