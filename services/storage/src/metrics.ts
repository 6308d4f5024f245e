import type { MetricTable } from '@cairn/kernel'

const SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5]

/** What storage counts beside the kernel and the ingress. */
export const STORAGE_METRICS = {
  bytes_in_total: { type: 'counter', labels: ['route'], help: 'Object bytes stored, by route.' },
  bytes_out_total: { type: 'counter', labels: ['route'], help: 'Object bytes handed out, by route.' },
  chunks_read_total: { type: 'counter', labels: ['tier'], help: 'Chunks handed out, from `memory` or `disk`.' },
  chunks_written_total: { type: 'counter', labels: ['tier'], help: 'Chunks stored that were not here before.' },
  integrity_fail_total: { type: 'counter', labels: ['reason'], help: 'Bytes that were not what their address says.' },
  rf_target: { type: 'gauge', labels: [], help: 'Copies each object should have.' },
  rf_observed: { type: 'gauge', labels: [], help: 'Copies that were read and proved at the last scrub.' },
  repair_wait_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: 'How long repairs wait for their budget.',
  },
  repair_skipped_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Repairs not queued: the next round plans them again.',
  },
  repair_bytes_total: { type: 'counter', labels: ['phase'], help: 'Bytes of repairs `planned` and `executed`.' },
  scrub_chunks_total: { type: 'counter', labels: ['result'], help: 'Chunks the scrub read, `sound` or `damaged`.' },
  swept_chunks_total: { type: 'counter', labels: [], help: 'Chunks removed because nobody needs them.' },
  compacted_bytes_total: { type: 'counter', labels: [], help: 'Bytes freed by compaction.' },
} as const satisfies MetricTable
