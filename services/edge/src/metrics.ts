import type { Metrics, MetricTable } from '@cairn/kernel'
import { REJECT_REASONS } from './errors.ts'

const SECONDS = [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12]

/** What the edge counts beside the kernel and the ingress. */
export const EDGE_METRICS = {
  edge_rejects_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Requests refused or failed, by the reason in `X-Reason`.',
  },
  edge_cache_hits_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'Answers from what is here: a `pack`, the `cas`, `memory`, or the `storage` of this node.',
  },
  edge_cache_misses_total: {
    type: 'counter',
    labels: ['cause'],
    help: 'Answers that needed an upstream or a provider: `cold`, `stale`, or `bypass` where nothing may be kept.',
  },
  edge_range_requests_total: { type: 'counter', labels: ['result'], help: 'Ranges answered `206` and `416`.' },
  edge_live_fill_attempts_total: { type: 'counter', labels: ['route'], help: 'Requests to upstreams, by route.' },
  edge_live_fill_success_total: { type: 'counter', labels: ['route'], help: 'Fills that ended well, by route.' },
  edge_fill_followers_total: { type: 'counter', labels: ['route'], help: 'Requests that shared a fill under way.' },
  fill_latency_seconds: {
    type: 'histogram',
    labels: ['route'],
    buckets: SECONDS,
    help: 'Until a fill has its header.',
  },
  edge_cas_writes_total: {
    type: 'counter',
    labels: ['status'],
    help: 'Bodies kept: `ok`, `dedup` where all of it was here, `error` where the disk refused.',
  },
  edge_cas_bytes: { type: 'gauge', labels: [], help: 'Bytes the cache holds, each chunk once.' },
  edge_cas_entries: { type: 'gauge', labels: [], help: 'Stored responses and provider objects.' },
  edge_cas_evictions_total: { type: 'counter', labels: [], help: 'Entries that made room.' },
  edge_bytes_out_total: { type: 'counter', labels: ['route'], help: 'Bytes of bodies handed out, by route.' },
  edge_bytes_in_total: {
    type: 'counter',
    labels: ['route'],
    help: 'Bytes of bodies taken in from upstreams, by route.',
  },
  edge_packs: { type: 'gauge', labels: ['state'], help: 'Packs `mounted` and `failed`.' },
  edge_invalidations_total: {
    type: 'counter',
    labels: ['route'],
    help: 'Keys that an unsafe method made invalid, by route.',
  },
} as const satisfies MetricTable

const REASONS: ReadonlySet<string> = new Set(REJECT_REASONS)

/** What a refusal counts as beside `rejected_total`. */
export function countProblem(metrics: Metrics, code: string): void {
  if (REASONS.has(code)) metrics.count('edge_rejects_total', { reason: code })
}
