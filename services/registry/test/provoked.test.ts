/**
 * Every metric the service has, each counted by a story that provokes it; every bound, by the metric that counts what
 * went over it; every error the design notes name, by its metric. A metric without a row fails the last tests.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { ERRORS, type ErrorKind, KERNEL_METRICS, type Labels } from '@cairn/kernel'
import { INGRESS_METRICS } from '@cairn/platform'
import { REGISTRY_METRICS } from '../src/metrics.ts'
import { REGISTRY_TOPOLOGY } from '../src/topology.ts'
import {
  crash,
  damage,
  faults,
  lag,
  overload,
  prunerBehind,
  type Reading,
  refusals,
  type Story,
  traffic,
} from './provoking.ts'

type MetricName = keyof typeof REGISTRY_METRICS | keyof typeof INGRESS_METRICS | keyof typeof KERNEL_METRICS

const PROVOKED: readonly (readonly [MetricName, Labels, Story])[] = [
  ['commit_cas_fail_total', {}, traffic],
  ['commit_latency_seconds', {}, traffic],
  ['registry_updates_total', { result: 'accepted' }, traffic],
  ['registry_updates_total', { result: 'rejected' }, traffic],
  ['registry_updates_total', { result: 'superseded' }, traffic],
  ['registry_commits_total', { outcome: 'committed' }, traffic],
  ['registry_commits_total', { outcome: 'ChainMismatch' }, traffic],
  ['registry_batches_total', {}, traffic],
  ...['proposal', 'approval', 'commit', 'audit_head', 'snapshot'].map(
    (kind) => ['registry_entries_total', { kind }, traffic] as const,
  ),
  ['registry_pending_proposals', {}, traffic],
  ['registry_signers', { org: 'org:example' }, traffic],
  ['registry_head_version', {}, traffic],
  ['registry_log_entries', {}, traffic],
  ['registry_log_segments', {}, traffic],
  ['registry_storage_bytes', {}, traffic],
  ['registry_checkpoint_age_seconds', {}, traffic],
  ['registry_config_version', {}, traffic],
  ['registry_recoveries_total', { kind: 'startup' }, traffic],
  ['registry_recoveries_total', { kind: 'crash' }, faults],
  ['registry_minimum_index', {}, traffic],
  ['registry_pruned_entries_total', {}, traffic],
  ['registry_verify_progress', {}, traffic],
  ['registry_verify_bad_index', {}, damage],
  ['registry_verified_entries_total', {}, traffic],
  ['audit_chain_verify_seconds', {}, traffic],
  ['registry_sse_clients_connected_total', {}, traffic],
  ['registry_sse_clients_disconnected_total', {}, traffic],
  ['storage_backoff_total', { op: 'entries' }, faults],
  ['storage_backoff_total', { op: 'checkpoint' }, faults],
  ['registry_prune_skipped_total', { reason: 'drive' }, faults],
  ['registry_prune_skipped_total', { reason: 'full' }, prunerBehind],
  ['http_requests_total', { route: '/registry/proposals', method: 'POST', status: '202' }, traffic],
  ['request_latency_seconds', { route: '/registry/commit/:id', method: 'POST' }, traffic],
  ['inflight_requests', { route: '/registry/proposals' }, overload],
  ['tasks_spawned_total', { kind: 'committer' }, traffic],
  ['rejected_total', { reason: 'NotASigner' }, refusals],
  ['auth_failures_total', { kind: 'macaroon' }, refusals],
  ['auth_failures_total', { kind: 'scope' }, refusals],
  ['decompress_reject_total', { reason: 'cap' }, refusals],
  ['decompress_reject_total', { reason: 'format' }, refusals],
  ['decompress_reject_total', { reason: 'truncated' }, refusals],
  ['quota_exhaustions_total', { kind: 'body_bytes' }, refusals],
  ['quota_exhaustions_total', { kind: 'rps' }, refusals],
  ['quota_exhaustions_total', { kind: 'inflight' }, overload],
  ['quota_exhaustions_total', { kind: 'streams' }, overload],
  ['busy_rejections_total', { endpoint: '/registry/proposals' }, overload],
  ['busy_rejections_total', { endpoint: '/registry/approvals/:id' }, overload],
  ['io_timeouts_total', { op: 'commit' }, overload],
  ['io_timeouts_total', { op: 'request' }, overload],
  ['queue_depth', { queue: 'proposals' }, overload],
  ['queue_depth', { queue: 'approvals' }, overload],
  ['queue_dropped_total', { queue: 'proposals' }, overload],
  ['queue_dropped_total', { queue: 'approvals' }, overload],
  ['queue_depth', { queue: 'retention_cmd' }, lag],
  ['queue_dropped_total', { queue: 'retention_cmd' }, lag],
  ['queue_dropped_total', { queue: 'committed' }, lag],
  ['queue_dropped_total', { queue: 'updates' }, lag],
  ['queue_dropped_total', { queue: 'events' }, lag],
  ['bus_lagged_total', { topic: 'committed', consumer: 'publisher' }, lag],
  ['bus_lagged_total', { topic: 'updates', consumer: 'listener' }, lag],
  ['bus_lagged_total', { topic: 'events', consumer: 'listener' }, lag],
  ['bus_overflow_dropped_total', {}, lag],
  ['tasks_panicked_total', { kind: 'committer' }, crash],
  ['service_restarts_total', { kind: 'committer' }, crash],
  ['tasks_canceled_total', { kind: 'publisher' }, crash],
  ['tasks_aborted_total', { kind: 'request' }, crash],
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

const provoked = new Set<string>(PROVOKED.map(([name]) => name))

function has(name: string, labels: Labels = {}): boolean {
  return PROVOKED.some(
    ([each, own]) => each === name && Object.entries(labels).every(([label, value]) => own[label] === value),
  )
}

test('every metric has a story, or a test where it is counted', () => {
  const all = Object.keys({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...REGISTRY_METRICS })
  assert.deepEqual(
    all.filter((name) => !provoked.has(name) && !(name in ELSEWHERE)),
    [],
  )
  for (const [name, file] of Object.entries(ELSEWHERE)) {
    assert.ok(!provoked.has(name), `${name} has a story here`)
    const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    assert.ok(text.includes(name), `${file} does not mention ${name}`)
  }
})

test('every queue and broadcast is filled until it loses something', () => {
  const { queues, broadcasts } = REGISTRY_TOPOLOGY
  for (const queue of Object.keys({ ...queues, ...broadcasts })) assert.ok(has('queue_dropped_total', { queue }), queue)
})

test('every error the design notes name for the registry is provoked', () => {
  const kinds: readonly ErrorKind[] = ['Busy', 'Timeout', 'Canceled', 'Lagging', 'ChainMismatch', 'StorageBusy']
  for (const kind of kinds) assert.ok(has(ERRORS[kind].metric), `${kind}: ${ERRORS[kind].metric}`)
})
