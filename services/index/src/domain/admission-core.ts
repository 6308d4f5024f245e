/**
 * Whether a lookup that comes now could still be answered in time.
 *
 *     every worker busy, n in line before it:   expected wait = (n + 1) · service time / workers
 *
 * The service time is a moving average over what lookups took; before the first, what a lookup is expected to take.
 */

/** Ranking and cache, 5 ms, and the DHT, 40 ms: the design's planning figures. */
export const SERVICE_MS_AT_START = 45
/** How much one lookup moves the average. */
const WEIGHT = 0.1

export interface WorkerLoad {
  readonly workers: number
  /** Workers with a lookup. */
  busy: number
  serviceMs: number
}

export function createWorkerLoad(workers: number): WorkerLoad {
  return { workers, busy: 0, serviceMs: SERVICE_MS_AT_START }
}

/** How long a lookup that comes now waits for a worker, with `depth` in line before it. */
export function expectedWaitMs({ workers, busy, serviceMs }: WorkerLoad, depth: number): number {
  // Whoever is in line is there because every worker is busy, whether or not it has begun.
  if (depth === 0 && busy < workers) return 0
  return ((depth + 1) * serviceMs) / workers
}

/** A worker is done with a lookup. One that was cut off would have taken longer than it did. */
export function noteService(load: WorkerLoad, tookMs: number, isWhole: boolean): void {
  if (!isWhole && tookMs < load.serviceMs) return
  load.serviceMs += (tookMs - load.serviceMs) * WEIGHT
}
