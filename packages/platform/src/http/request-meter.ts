import type { Runtime } from '@cairn/kernel'
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
