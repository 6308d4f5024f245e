/**
 * A service's metrics, kept by the Prometheus client in a registry of its own. Every series carries
 * `service`; queues are not counted as they go but read from the live topology at each scrape.
 */

import { constants, monitorEventLoopDelay, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import {
  Closeable,
  checkMetricUse,
  type Labels,
  type LiveTopology,
  type MetricRow,
  type Metrics,
  type MetricTable,
  type Runtime,
} from '@cairn/kernel'
import { Counter, Gauge, Histogram, type LabelValues, Registry } from '@prometheus-io/client'

export interface TallyShape {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[]
  readonly registers: Registry[]
}

interface Series {
  readonly labels: Labels
  /** By bucket; the last is for what is above every bound. */
  readonly counts: number[]
  sum: number
}

/** A histogram that takes observations by the hundred: the library would look the series up again for each of them. */
export class TallyHistogram extends Histogram<string> {
  readonly #shape: TallyShape
  readonly #series = new Map<string, Series>()

  constructor(shape: TallyShape) {
    super({ ...shape, buckets: [...shape.buckets] })
    this.#shape = shape
    if (shape.labelNames.length === 0) this.#seriesOf({})
  }

  observeAll(labels: Labels, values: readonly number[]): void {
    const { buckets } = this.#shape
    const series = this.#seriesOf(labels)
    for (const value of values) {
      let at = 0
      while (at < buckets.length && value > (buckets[at] ?? 0)) at += 1
      series.counts[at] = (series.counts[at] ?? 0) + 1
      series.sum += value
    }
  }

  override async get(): ReturnType<Histogram<string>['get']> {
    const { name, help } = this.#shape
    const values = [...this.#series.values()].flatMap((series) => this.#lines(series))
    const kind = { type: 'histogram', aggregator: 'sum', collect: () => {} } as const
    return await Promise.resolve({ name, help, ...kind, values })
  }

  /** What the registry asks for when it writes the text. */
  async getForPromString(): ReturnType<Histogram<string>['get']> {
    return await this.get()
  }

  #seriesOf(labels: Labels): Series {
    const key = JSON.stringify(this.#shape.labelNames.map((label) => labels[label]))
    let series = this.#series.get(key)
    if (series === undefined) {
      series = { labels, counts: this.#shape.buckets.map(() => 0).concat(0), sum: 0 }
      this.#series.set(key, series)
    }
    return series
  }

  #lines({ labels, counts, sum }: Series): { value: number; labels: LabelValues<string>; metricName: string }[] {
    const { name, buckets } = this.#shape
    let count = 0
    const bounded = counts.map((own, at) => {
      count += own
      return { value: count, labels: { le: buckets[at] ?? '+Inf', ...labels }, metricName: `${name}_bucket` }
    })
    return [
      ...bounded,
      { value: sum, labels: { ...labels }, metricName: `${name}_sum` },
      { value: count, labels: { ...labels }, metricName: `${name}_count` },
    ]
  }
}

const NO_LABELS: Labels = Object.freeze({})

/** Observations that wait together: one by one each costs the library several times as much. */
const BATCH_MAX = 256

/** Seconds, as Prometheus has them. */
const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** What is said of one metric under the very same labels object, one time after another. */
interface CounterSum {
  readonly labels: Labels
  sum: number
}

interface HistogramBatch {
  readonly labels: Labels
  readonly values: number[]
}

/** Who passes the same labels object every time pays next to nothing: the library hears of it when scraped. */
export class PrometheusMetrics implements Metrics {
  readonly #table: MetricTable
  readonly #registry = new Registry()
  readonly #counters = new Map<string, Counter<string>>()
  readonly #gauges = new Map<string, Gauge<string>>()
  readonly #histograms = new Map<string, TallyHistogram>()
  readonly #beforeScrape = new Set<() => void>()
  readonly #tallies = new Map<string, CounterSum>()
  readonly #batches = new Map<string, HistogramBatch>()

  constructor(service: string, table: MetricTable) {
    this.#table = table
    this.#registry.setDefaultLabels({ service })
    for (const [name, row] of Object.entries(table)) {
      // It would take the place of the label that every series carries.
      if (row.labels.includes('service')) throw new TypeError(`${name} must not have a label "service".`)
      this.#open(name, row)
    }
  }

  count(name: string, labels: Labels = NO_LABELS, by = 1): void {
    const tally = this.#tallies.get(name)
    if (tally?.labels === labels) {
      tally.sum += by
      return
    }
    checkMetricUse(this.#table, name, 'counter', labels)
    if (tally !== undefined) this.#counters.get(name)?.inc(tally.labels, tally.sum)
    this.#tallies.set(name, { labels, sum: by })
  }

  set(name: string, value: number, labels: Labels = {}): void {
    checkMetricUse(this.#table, name, 'gauge', labels)
    this.#gauges.get(name)?.set(labels, value)
  }

  observe(name: string, value: number, labels: Labels = NO_LABELS): void {
    let batch = this.#batches.get(name)
    if (batch?.labels !== labels) {
      checkMetricUse(this.#table, name, 'histogram', labels)
      if (batch !== undefined) this.#handOver(name, batch)
      batch = { labels, values: [] }
      this.#batches.set(name, batch)
    }
    batch.values.push(value)
    if (batch.values.length >= BATCH_MAX) this.#handOver(name, batch)
  }

  /** Runs `read` before every scrape, for values that are looked up rather than counted. Returns how to stop. */
  onScrape(read: () => void): () => void {
    this.#beforeScrape.add(read)
    return () => {
      this.#beforeScrape.delete(read)
    }
  }

  /** From now on `queue_depth` and `queue_dropped_total` show the queues and broadcasts alive in this topology. */
  readQueues(topology: LiveTopology): void {
    const depth = this.#gauges.get('queue_depth')
    const dropped = this.#counters.get('queue_dropped_total')
    this.onScrape(() => {
      depth?.reset()
      dropped?.reset()
      for (const entry of topology) {
        if (entry.kind !== 'queue' && entry.kind !== 'broadcast') continue
        const facts = entry.facts()
        // Two queues may share a name: their sum is shown. A broadcast never waits: it has no depth.
        if (entry.kind === 'queue') depth?.inc({ queue: entry.name }, Number(facts['depth'] ?? 0))
        dropped?.inc({ queue: entry.name }, Number(facts['lost'] ?? 0))
      }
    })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** Everything in the text format, read now. */
  async exposition(): Promise<string> {
    for (const read of this.#beforeScrape) read()
    for (const [name, { labels, sum }] of this.#tallies) this.#counters.get(name)?.inc(labels, sum)
    this.#tallies.clear()
    for (const [name, batch] of this.#batches) this.#handOver(name, batch)
    return await this.#registry.metrics()
  }

  #handOver(name: string, { labels, values }: HistogramBatch): void {
    this.#histograms.get(name)?.observeAll(labels, values)
    values.length = 0
  }

  #open(name: string, row: MetricRow): void {
    const shape = { name, help: row.help, labelNames: row.labels, registers: [this.#registry] }
    switch (row.type) {
      case 'counter':
        this.#counters.set(name, new Counter(shape))
        break
      case 'gauge':
        this.#gauges.set(name, new Gauge(shape))
        break
      case 'histogram': {
        this.#histograms.set(name, new TallyHistogram({ ...shape, buckets: row.buckets ?? DEFAULT_BUCKETS }))
        break
      }
    }
  }
}

// How the process itself is doing: memory, garbage collection, and whether the event loop keeps up.

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
