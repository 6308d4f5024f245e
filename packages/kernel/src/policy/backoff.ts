import type { Random } from '../random.ts'

/** How long to wait before attempt `attempt + 1`, when `attempt` (counted from 1) has failed. */
export type Backoff = (attempt: number, random: Random) => number

export interface RetryPolicy {
  /** Attempts in all, the first included. */
  readonly tries: number
  readonly backoff: Backoff
}

function spread(lowMs: number, highMs: number, random: Random): number {
  return lowMs + (highMs - lowMs) * random.next()
}

/** The services' retry policies, by who uses them. Only idempotent calls are ever retried. */
export const RETRY = {
  /** Calls between services: 50–100 ms, then 200–400, then 800–1600; never above 2 s; three tries. */
  rpc: {
    tries: 3,
    backoff: (attempt, random) => Math.min(2000, spread(50, 100, random) * 4 ** (attempt - 1)),
  },
  /** Lookups in the index: 50–100 ms each time, three tries; the request's budget is short. */
  lookup: { tries: 3, backoff: (_attempt, random) => spread(50, 100, random) },
  /** Filling the edge's cache: min(800, 50·2ⁿ) + U[0, 50] ms, three tries. */
  fill: { tries: 3, backoff: (attempt, random) => Math.min(800, 50 * 2 ** (attempt - 1)) + spread(0, 50, random) },
} as const satisfies Record<string, RetryPolicy>

/** Restarts of a task: 100 ms doubling to 5 s, less up to half of it as jitter. */
export const restartBackoff: Backoff = (attempt, random) => {
  const ceiling = Math.min(5000, 100 * 2 ** (attempt - 1))
  return spread(ceiling / 2, ceiling, random)
}
