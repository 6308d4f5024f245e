/** How the process itself is doing: memory, garbage collection, and whether the event loop keeps up. */
import { constants, monitorEventLoopDelay, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { Closeable, type MetricTable, type Runtime } from '@cairn/kernel'
import type { PrometheusMetrics } from './prometheus-metrics.ts'

export const PROCESS_METRICS = {
  process_resident_memory_bytes: { type: 'gauge', labels: [], help: 'Memory the process holds in RAM.' },
  nodejs_eventloop_lag_seconds: {
    type: 'gauge',
    labels: ['quantile'],
    help: 'How late the event loop ran since the last scrape, by quantile.',
  },
  nodejs_gc_duration_seconds: {
    type: 'histogram',
    labels: ['kind'],
    buckets: [0.001, 0.01, 0.1, 1],
    help: 'Pauses for garbage collection.',
  },
} as const satisfies MetricTable

const GC_KINDS: ReadonlyMap<number, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])

/** Each is a wake-up of a process that may have nothing else to do; a stall that matters is longer. */
const LAG_RESOLUTION_MS = 100
const QUANTILES = [0.5, 0.99, 1]

/** Measures the process from now until closed, into a registry whose table includes `PROCESS_METRICS`. */
export class ProcessMetrics extends Closeable {
  readonly #lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  readonly #collections: PerformanceObserver
  readonly #stopReading: () => void

  constructor(runtime: Runtime, metrics: PrometheusMetrics) {
    super(runtime, 'process metrics')
    this.#lag.enable()
    this.#collections = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const kind = GC_KINDS.get(gcKind(entry)) ?? 'other'
        metrics.observe('nodejs_gc_duration_seconds', entry.duration / 1000, { kind })
      }
    })
    this.#collections.observe({ entryTypes: ['gc'] })
    this.#stopReading = metrics.onScrape(() => {
      metrics.set('process_resident_memory_bytes', process.memoryUsage.rss())
      for (const quantile of QUANTILES) {
        // The histogram holds whole intervals between ticks; the lag is what is past the resolution.
        const intervalMs = this.#lag.count === 0 ? 0 : this.#lag.percentile(100 * quantile) / 1e6
        const lagSeconds = Math.max(0, intervalMs - LAG_RESOLUTION_MS) / 1000
        metrics.set('nodejs_eventloop_lag_seconds', lagSeconds, { quantile: String(quantile) })
      }
      this.#lag.reset()
    })
  }

  protected async release(): Promise<void> {
    this.#lag.disable()
    this.#collections.disconnect()
    this.#stopReading()
    await Promise.resolve()
  }
}

function gcKind(entry: PerformanceEntry): number {
  const detail: unknown = 'detail' in entry ? entry.detail : undefined
  return typeof detail === 'object' && detail !== null && 'kind' in detail ? Number(detail.kind) : 0
}
