import type { Metrics, MetricTable } from '@cairn/kernel'

const SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5]

/** What storage counts beside the kernel and the ingress. */
export const STORAGE_METRICS = {
  storage_get_latency_seconds: {
    type: 'histogram',
    labels: ['route', 'range'],
    buckets: SECONDS,
    help: 'Until the first bytes of an object are proved; range is `whole`, `single` or `multiple`.',
  },
  storage_put_latency_seconds: {
    type: 'histogram',
    labels: ['route'],
    buckets: SECONDS,
    help: 'Until an object that came in is durable.',
  },
  bytes_in_total: { type: 'counter', labels: ['route'], help: 'Object and chunk bytes taken in, by route.' },
  bytes_out_total: { type: 'counter', labels: ['route'], help: 'Object and chunk bytes handed out, by route.' },
  chunks_read_total: { type: 'counter', labels: ['tier'], help: 'Chunks handed out, from `memory` or `disk`.' },
  chunks_written_total: { type: 'counter', labels: ['tier'], help: 'Chunks stored that were not here before.' },
  integrity_fail_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Chunks here that were not what their address says (`checksum`), answers of peers that were not what they said (`header_mismatch`), copies that a peer says it has and has not (`false_claim`), and coded bodies past their cap (`decompress_cap`).',
  },
  hedged_reads_total: { type: 'counter', labels: [], help: 'Reads that were late and asked of a second copy as well.' },
  peer_auth_fail_total: { type: 'counter', labels: [], help: 'Requests to peers that refused our token.' },
  rf_target: { type: 'gauge', labels: [], help: 'Copies each object should have.' },
  rf_observed: {
    type: 'gauge',
    labels: [],
    help: 'The fewest copies any object has that were read and proved by a whole scrub since the start.',
  },
  repair_wait_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: 'How long repairs wait for their budget.',
  },
  repair_skipped_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Repairs not made: the queue was `full`, so the next round plans them again, there is `no_copy` to repair from, or the `drive` failed.',
  },
  repair_bytes_total: {
    type: 'counter',
    labels: ['phase'],
    help: 'Bytes of repairs: about how many are `planned`, and those `executed`, counted as they are paid for.',
  },
  repair_seconds_total: { type: 'counter', labels: ['phase'], help: 'Time spent on repairs, the wait not included.' },
  scrub_chunks_total: { type: 'counter', labels: ['result'], help: 'Chunks the scrub read, `sound` or `damaged`.' },
  index_segments_total: {
    type: 'counter',
    labels: ['how'],
    help: 'Segments the index came to know: from a `side_file`, or by reading them (`scan_missing`, `scan_damaged`).',
  },
  scrub_mended_total: {
    type: 'counter',
    labels: [],
    help: 'Records that the index lacked or had wrong, and the scrub put right.',
  },
  garbage_held_back: {
    type: 'gauge',
    labels: [],
    help: '1 while no garbage is collected because something of a journal, an object or a list cannot be read.',
  },
  swept_chunks_total: { type: 'counter', labels: [], help: 'Chunks removed because nothing refers to them.' },
  compacted_bytes_total: { type: 'counter', labels: [], help: 'Bytes freed by compaction.' },
} as const satisfies MetricTable

/** What a refusal counts as beside `rejected_total`. */
export function countProblem(metrics: Metrics, code: string): void {
  if (code === 'decompress_cap' || code === 'ratio_cap')
    metrics.count('integrity_fail_total', { reason: 'decompress_cap' })
}
