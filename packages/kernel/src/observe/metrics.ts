/**
 * Metrics are declared once, in a table, and used by name; an unknown name or label is a defect and
 * throws. Labels have few values by construction: never an address, a path, a peer or a token.
 */

export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds of a histogram, ascending. */
  readonly buckets?: readonly number[]
}

export type MetricTable = Readonly<Record<string, MetricRow>>
export type Labels = Readonly<Record<string, string>>

export interface Metrics {
  /** Adds to a counter. */
  count(name: string, labels?: Labels, by?: number): void
  /** Sets a gauge. */
  set(name: string, value: number, labels?: Labels): void
  /** Adds one observation to a histogram. */
  observe(name: string, value: number, labels?: Labels): void
}

/** What the kernel itself counts; every service has these. */
export const KERNEL_METRICS = {
  queue_depth: { type: 'gauge', labels: ['queue'], help: 'Items waiting in a queue, read when scraped.' },
  queue_dropped_total: {
    type: 'counter',
    labels: ['queue'],
    help: 'Items a queue refused, dropped or discarded, or a slow subscriber lost.',
  },
  busy_rejections_total: {
    type: 'counter',
    labels: ['endpoint'],
    help: 'Requests answered 429 because a bound was reached.',
  },
  bus_lagged_total: {
    type: 'counter',
    labels: ['topic', 'consumer'],
    help: 'Values a slow subscriber of a broadcast lost, by the task that reads it.',
  },
  tasks_spawned_total: { type: 'counter', labels: ['kind'], help: 'Tasks started, restarts included.' },
  service_restarts_total: { type: 'counter', labels: ['kind'], help: 'Tasks started again after they failed.' },
  tasks_canceled_total: { type: 'counter', labels: ['kind'], help: 'Tasks that ended because they were asked to.' },
  tasks_aborted_total: { type: 'counter', labels: ['kind'], help: 'Tasks aborted at the drain deadline.' },
  tasks_panicked_total: { type: 'counter', labels: ['kind'], help: 'Tasks that ended with an uncaught error.' },
  tasks_abandoned_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'Tasks that ignored abort and are no longer awaited.',
  },
  io_timeouts_total: { type: 'counter', labels: ['op'], help: 'I/O or requests that ran out of their budget.' },
  backoff_retries_total: {
    type: 'counter',
    labels: ['op', 'result'],
    help: 'Attempts after the first, by how the attempt ended.',
  },
  breaker_open_total: { type: 'counter', labels: ['target'], help: 'Times a breaker opened, by configured target.' },
  breaker_state: { type: 'gauge', labels: ['target', 'state'], help: '1 for the state a breaker is in, else 0.' },
  internal_errors_total: { type: 'counter', labels: ['kind'], help: 'Defects: unexpected errors.' },
} as const satisfies MetricTable

/** Throws unless the table declares this name with this type and exactly these labels. */
export function checkMetricUse(table: MetricTable, name: string, type: MetricRow['type'], labels: Labels): void {
  const row = table[name]
  if (row === undefined) throw new TypeError(`The metric ${name} is not declared.`)
  if (row.type !== type) throw new TypeError(`The metric ${name} is a ${row.type}, not a ${type}.`)
  const given = Object.keys(labels)
  let isAsDeclared = given.length === row.labels.length
  for (const label of row.labels) isAsDeclared &&= label in labels
  if (!isAsDeclared)
    throw new TypeError(`The metric ${name} has the labels [${row.labels.join(', ')}], not [${given.join(', ')}].`)
}

/** Metrics in a map; for tests and the simulator. */
export class MemoryMetrics implements Metrics {
  readonly #table: MetricTable
  readonly #values = new Map<string, number>()

  constructor(table: MetricTable = KERNEL_METRICS) {
    this.#table = table
  }

  count(name: string, labels: Labels = {}, by = 1): void {
    checkMetricUse(this.#table, name, 'counter', labels)
    this.#add(seriesKey(name, labels), by)
  }

  set(name: string, value: number, labels: Labels = {}): void {
    checkMetricUse(this.#table, name, 'gauge', labels)
    this.#values.set(seriesKey(name, labels), value)
  }

  observe(name: string, value: number, labels: Labels = {}): void {
    checkMetricUse(this.#table, name, 'histogram', labels)
    this.#add(seriesKey(`${name}_count`, labels), 1)
    this.#add(seriesKey(`${name}_sum`, labels), value)
  }

  /** The value of a series, 0 if it was never touched. Histograms are read as `name_count` and `name_sum`. */
  value(name: string, labels: Labels = {}): number {
    return this.#values.get(seriesKey(name, labels)) ?? 0
  }

  #add(key: string, by: number): void {
    this.#values.set(key, (this.#values.get(key) ?? 0) + by)
  }
}

/** The key of a series: its labels sorted by name, so that callers may pass them in any order. */
function seriesKey(name: string, labels: Labels): string {
  const names = Object.keys(labels)
  if (names.length > 1) names.sort()
  let key = name
  for (const label of names) key += `\n${label}\n${labels[label] ?? ''}`
  return key
}
