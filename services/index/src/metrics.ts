import type { MetricTable } from '@cairn/kernel'
import { ROUTING_METRICS } from '@cairn/routing'

/** What following the registry counts. */
export const REGISTRY_VIEW_METRICS = {
  index_registry_checks_total: {
    type: 'counter',
    labels: ['outcome'],
    help: 'Looks at the registry: it had `advanced`, was `unchanged`, could not be asked (`unreachable`), or was `refused`.',
  },
  index_registry_refused_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'What the registry told and could not prove, by the code of the refusal. Nothing of it was taken over.',
  },
  index_registry_version: {
    type: 'gauge',
    labels: [],
    help: 'The newest version of the registry that was proved here.',
  },
  index_registry_entries: { type: 'gauge', labels: [], help: 'Entries of its log up to which everything was proved.' },
} as const satisfies MetricTable

/** Labels have few values: a target is shown as one of these, though each has its breaker to itself. */
const SLOTS = 64

/** The same target always has the same slot. */
export function slotOf(target: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < target.length; at += 1) hash = Math.imul(hash ^ target.charCodeAt(at), 0x01000193)
  return String((hash >>> 0) % SLOTS)
}

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 1.2, 2]

/** What the index counts beside the kernel and the ingress. */
export const INDEX_METRICS = {
  ...ROUTING_METRICS,
  ...REGISTRY_VIEW_METRICS,
  resolve_latency_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: 'From the moment a key is asked for until its answer, queue included.',
  },
  index_dht_lookup_ms: {
    type: 'histogram',
    labels: [],
    buckets: [10, 25, 50, 80, 120, 200, 350, 600, 1000, 1200],
    help: 'How long hedged lookups took, however they ended.',
  },
  resolve_deadline_hit: { type: 'counter', labels: [], help: 'Lookups that ran out of their budget.' },
  index_resolves_total: {
    type: 'counter',
    labels: ['type', 'source'],
    help: 'Keys resolved, `name` or `cid`, from `cache`, `registry`, `db` or `dht`.',
  },
  index_cache_hits_total: { type: 'counter', labels: [], help: 'Questions answered from the cache.' },
  index_cache_misses_total: { type: 'counter', labels: [], help: 'Questions that had to be looked up.' },
  index_cache_size: { type: 'gauge', labels: [], help: 'Answers in the cache.' },
  index_cache_writes_lost_total: {
    type: 'counter',
    labels: [],
    help: 'Answers that were given but not kept, because the janitor was behind.',
  },
  index_providers_returned: {
    type: 'histogram',
    labels: ['class'],
    buckets: [1, 2, 3, 5, 8, 13],
    help: 'Providers in an answer, by class.',
  },
  index_provider_set_changes_total: {
    type: 'counter',
    labels: [],
    help: 'Lookups that found another set of providers than the one kept before.',
  },
  index_integrity_fail_total: {
    type: 'counter',
    labels: ['stage'],
    help: 'Providers reported to hand out other bytes than the address says.',
  },
  dht_errors_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'Legs that did not answer well: `timeout`, `breaker` or `io`; and lookups without a provider, `not_found`.',
  },
  dht_hedged_requests_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Lookups that asked more ways: those found it first (`win`), did not (`lose`), or neither did (`tie`).',
  },
  dht_records_missing_total: {
    type: 'counter',
    labels: [],
    help: 'Providers without a signature, left out because `dht.accept_unsigned` is off.',
  },
  admission_inflight: {
    type: 'gauge',
    labels: ['stage'],
    help: 'Lookups `waiting` for a worker and `working`, read every second.',
  },
  admission_rejections_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Lookups refused before they waited: the `wait` would outlast the budget, the `route` is full, the `quota` is used up, the `queue` is full.',
  },
  announce_records_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Records handed in: `accepted`, `refused` by their form or signature, `unreachable` where the dial-back failed.',
  },
  index_announced_objects: { type: 'gauge', labels: [], help: 'Objects this node announces.' },
  index_pins: { type: 'gauge', labels: [], help: 'Addresses that are pinned.' },
  index_reindex_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Keys looked up again: `found`, `absent`, `failed`.',
  },
  amnesia_mode: { type: 'gauge', labels: ['status'], help: '1 for the mode the service runs in, `on` or `off`.' },
  amnesia_purge_total: { type: 'counter', labels: ['kind'], help: 'Times everything looked up was forgotten.' },
} as const satisfies MetricTable
