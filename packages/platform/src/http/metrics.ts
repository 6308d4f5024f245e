import type { MetricTable } from '@cairn/kernel'

/** What the ingress counts beside the kernel's own table. Labels are templates and codes, never what a client sent. */
export const INGRESS_METRICS = {
  http_requests_total: {
    type: 'counter',
    labels: ['route', 'method', 'status'],
    help: 'Requests answered, by route template.',
  },
  request_latency_seconds: {
    type: 'histogram',
    labels: ['route', 'method'],
    help: 'From the end of the header to the answer, the sending of it not included.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5],
  },
  inflight_requests: { type: 'gauge', labels: ['route'], help: 'Requests and streams open now, read when scraped.' },
  open_connections: { type: 'gauge', labels: [], help: 'Client connections open now, read when scraped.' },
  connections_refused_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Connections closed for others: over a limit (`address`, `total`) or to make room (`idle`).',
  },
  rejected_total: { type: 'counter', labels: ['reason'], help: 'Requests refused before their handler ran, by code.' },
  quota_exhaustions_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'Refusals because a bound was reached: `rps`, `ip`, `inflight`, `streams`, `body_bytes` or `decoded_bytes`.',
  },
  auth_failures_total: { type: 'counter', labels: ['kind'], help: 'Capabilities refused, by kind of reason.' },
  decompress_reject_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Coded bodies refused: `cap`, `format` or `truncated`.',
  },
  tls_handshake_failures_total: { type: 'counter', labels: [], help: 'TLS handshakes that did not complete.' },
} as const satisfies MetricTable

/** The route label of a request that matched no route. */
export const NO_ROUTE = '(none)'
