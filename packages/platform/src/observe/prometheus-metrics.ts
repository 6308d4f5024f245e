/**
 * A service's metrics, kept by the Prometheus client in a registry of its own. Every series carries
 * `service`; queues are not counted as they go but read from the live topology when somebody scrapes.
 */
import {
  checkMetricUse,
  type Labels,
  type LiveTopology,
  type MetricRow,
  type Metrics,
  type MetricTable,
} from '@cairn/kernel'
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client'

export class PrometheusMetrics implements Metrics {
  readonly #table: MetricTable
  readonly #registry = new Registry()
  readonly #counters = new Map<string, Counter<string>>()
  readonly #gauges = new Map<string, Gauge<string>>()
  readonly #histograms = new Map<string, Histogram<string>>()
  readonly #beforeScrape = new Set<() => void>()

  constructor(service: string, table: MetricTable) {
    this.#table = table
    this.#registry.setDefaultLabels({ service })
    for (const [name, row] of Object.entries(table)) this.#open(name, row)
  }

  count(name: string, labels: Labels = {}, by = 1): void {
    checkMetricUse(this.#table, name, 'counter', labels)
    this.#counters.get(name)?.inc(labels, by)
  }

  set(name: string, value: number, labels: Labels = {}): void {
    checkMetricUse(this.#table, name, 'gauge', labels)
    this.#gauges.get(name)?.set(labels, value)
  }

  observe(name: string, value: number, labels: Labels = {}): void {
    checkMetricUse(this.#table, name, 'histogram', labels)
    this.#histograms.get(name)?.observe(labels, value)
  }

  /** Runs `read` before every scrape, for values that are looked up rather than counted. Returns how to stop. */
  onScrape(read: () => void): () => void {
    this.#beforeScrape.add(read)
    return () => {
      this.#beforeScrape.delete(read)
    }
  }

  /** From now on `queue_depth` and `queue_dropped_total` show the queues alive in this topology. */
  readQueues(topology: LiveTopology): void {
    const depth = this.#gauges.get('queue_depth')
    const dropped = this.#counters.get('queue_dropped_total')
    this.onScrape(() => {
      depth?.reset()
      dropped?.reset()
      for (const entry of topology) {
        if (entry.kind !== 'queue') continue
        const facts = entry.facts()
        // Two queues may share a name: what is shown is their sum.
        depth?.inc({ queue: entry.name }, Number(facts['depth'] ?? 0))
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
    return await this.#registry.metrics()
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
        const buckets = row.buckets === undefined ? {} : { buckets: [...row.buckets] }
        this.#histograms.set(name, new Histogram({ ...shape, ...buckets }))
        break
      }
    }
  }
}
