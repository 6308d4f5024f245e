import type { MetricTable, Runtime } from '@cairn/kernel'
import type { Exchange } from './exchange.ts'
import type { ServedRoute } from './router.ts'

/** A batch is handed on when it is this large or this old. */
const BATCH_MAX = 256
const BATCH_MS = 100

/**
 * Counts requests and their latencies, and hands them to the metrics in batches: by itself a metric costs as much as
 * the rest of the pipeline. After a pause the next request is handed on at once, and `flush` makes everything exact.
 */
export class RequestMeter {
  readonly #runtime: Runtime
  /** Since the last batch, route by route. */
  readonly #pending = new Set<ServedRoute>()
  #count = 0
  #flushedAt = Number.NEGATIVE_INFINITY

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  note(served: ServedRoute, status: number, elapsedMs: number, now: number): void {
    served.note(status, elapsedMs)
    this.#pending.add(served)
    this.#count += 1
    if (this.#count >= BATCH_MAX || now - this.#flushedAt >= BATCH_MS) this.flush()
  }

  flush(): void {
    const { metrics, clock } = this.#runtime
    for (const served of this.#pending) served.handOver(metrics)
    this.#pending.clear()
    this.#count = 0
    this.#flushedAt = clock.now()
  }
}

/** Two buckets for each doubling of the time, the first up to 0.05 ms. */
const LATENCY_BUCKETS = 48
const LATENCY_FIRST_MS = 0.05

/** How many requests there were since the start, and how long they took: for a look at the node, by the node itself. */
export class Traffic {
  requests = 0
  /** Of them, those that failed by our doing. */
  errors = 0
  /** By how long they took; of each bucket, `latencyLimitMs` is the most. */
  readonly latencies = new Uint32Array(LATENCY_BUCKETS)

  note(status: number, elapsedMs: number): void {
    this.requests += 1
    if (status >= 500) this.errors += 1
    const bucket = elapsedMs <= LATENCY_FIRST_MS ? 0 : Math.ceil(2 * Math.log2(elapsedMs / LATENCY_FIRST_MS))
    const at = Math.min(bucket, LATENCY_BUCKETS - 1)
    this.latencies[at] = (this.latencies[at] ?? 0) + 1
  }
}

export function latencyLimitMs(bucket: number): number {
  return LATENCY_FIRST_MS * 2 ** (bucket / 2)
}

/** One line for each request, or for a part of them; failures of ours are never left out. */
export class AccessLog {
  readonly #runtime: Runtime
  #ratio: number
  /** Grows by the ratio with each request; each whole number is a line. Exact over time, and needs no chance. */
  #credit = 0

  constructor(runtime: Runtime, ratio: number) {
    this.#runtime = runtime
    this.#ratio = ratio
  }

  reconfigure(ratio: number): void {
    this.#ratio = ratio
  }

  note(exchange: Exchange, status: number, elapsedMs: number, bytesOut: number | undefined): void {
    this.#credit += this.#ratio
    const isChosen = this.#credit >= 1
    if (isChosen) this.#credit -= 1
    if (!isChosen && status < 500) return
    const { method, corrId, served, peer } = exchange
    const fields = {
      corr_id: corrId,
      method,
      route: served?.route.path ?? NO_ROUTE,
      status,
      latency_ms: Math.round(elapsedMs * 1000) / 1000,
      bytes_out: bytesOut,
      peer: peer.kind === 'unix' ? 'unix' : peer.address,
    }
    this.#runtime.log.info(fields, 'request')
  }
}

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
