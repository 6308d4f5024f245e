import type { Labels } from '@cairn/kernel'
import { Histogram, type LabelValues, type Registry } from '@prometheus-io/client'

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
