import { throwIfCanceled } from '../channel/waiters.ts'
import { sleep } from '../clock.ts'
import { ERRORS, isKind, toCairnError } from '../errors.ts'
import type { Runtime } from '../runtime.ts'
import type { RetryPolicy } from './backoff.ts'
import type { Deadline } from './deadline.ts'

export interface RetryOptions {
  readonly policy: RetryPolicy
  /** The label under which retries are counted. */
  readonly operation: string
  readonly deadline?: Deadline
  readonly signal?: AbortSignal
}

/**
 * Runs an **idempotent** attempt until it succeeds, its error says that trying again is useless, the
 * tries are used up, or the next wait would pass the deadline. The last error is thrown as it came.
 */
export async function retry<T>(runtime: Runtime, attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { policy, operation, deadline, signal } = options
  for (let tries = 1; ; tries += 1) {
    throwIfCanceled(signal)
    deadline?.throwIfExpired(operation)
    try {
      const value = await attempt()
      if (tries > 1) runtime.metrics.count('backoff_retries_total', { op: operation, result: 'ok' })
      return value
    } catch (error) {
      if (tries > 1) runtime.metrics.count('backoff_retries_total', { op: operation, result: 'failed' })
      const waitMs = Math.max(policy.backoff(tries, runtime.random), retryAfterMs(error))
      const pointless = tries >= policy.tries || !isRetryable(error) || (deadline?.remaining() ?? Infinity) <= waitMs
      if (pointless || signal?.aborted === true) throw error
      await sleep(runtime.clock, waitMs, { signal })
    }
  }
}

/**
 * An open breaker has already decided that trying is useless, though a client may come back later. A compare-and-set that
 * found another version finds it again: its caller has to read what is there now and send something else.
 */
function isRetryable(error: unknown): boolean {
  const isPointless = isKind(error, 'BreakerOpen') || isKind(error, 'ChainMismatch')
  return !isPointless && ERRORS[toCairnError(error).kind].retry !== 'never'
}

function retryAfterMs(error: unknown): number {
  return toCairnError(error).retryAfterMs ?? 0
}
