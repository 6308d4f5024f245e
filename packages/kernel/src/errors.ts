/**
 * Every way work can fail here, as one table.
 *
 * A kind is what code switches on; `code` is what a client sees and may depend on. A service refines
 * the code (`Conflict` becomes `referenced`) but never the status class. `docs/ERRORS.md` is tested
 * against this table in both directions.
 */

export interface ErrorRow {
  /** Stable default code in problem+json bodies. */
  readonly code: string
  /** HTTP status, where one is ever sent. */
  readonly status: number
  /** Whether to retry: never, as the caller decides, or after `Retry-After`. */
  readonly retry: 'never' | 'caller' | 'later'
  /** The metric that counts it; empty where the request counter is enough. */
  readonly metric: string
  readonly when: string
}

export const ERRORS = {
  Busy: {
    code: 'busy',
    status: 429,
    retry: 'later',
    metric: 'busy_rejections_total',
    when: 'A work queue, an in-flight limit or a rate is at its bound.',
  },
  Timeout: {
    code: 'timeout',
    status: 504,
    retry: 'caller',
    metric: 'io_timeouts_total',
    when: 'The budget of the request or of one I/O ran out.',
  },
  Canceled: {
    code: 'canceled',
    status: 503,
    retry: 'never',
    metric: 'tasks_canceled_total',
    when: 'Shutdown or the caller ended the work while it waited.',
  },
  Lagging: {
    code: 'lagging',
    status: 503,
    retry: 'never',
    metric: 'bus_lagged_total',
    when: 'A broadcast subscriber fell behind and lost its oldest values.',
  },
  Paced: {
    code: 'paced',
    status: 429,
    retry: 'later',
    metric: 'repair_wait_seconds',
    when: 'A token bucket is empty; the work goes on later.',
  },
  Overflow: {
    code: 'overflow',
    status: 503,
    retry: 'later',
    metric: 'repair_skipped_total',
    when: 'An internal queue is at capacity; the next round plans again.',
  },
  BreakerOpen: {
    code: 'breaker_open',
    status: 503,
    retry: 'later',
    metric: 'breaker_open_total',
    when: 'The breaker of the target is open.',
  },
  ChainMismatch: {
    code: 'chain_mismatch',
    status: 409,
    retry: 'caller',
    metric: 'commit_cas_fail_total',
    when: 'Compare-and-set on HEAD found another version.',
  },
  StorageBusy: {
    code: 'storage_busy',
    status: 503,
    retry: 'later',
    metric: 'storage_backoff_total',
    when: 'The store is stalled, or not ready to write; try again later.',
  },
  RejectPolicy: {
    code: 'reject_policy',
    status: 403,
    retry: 'never',
    metric: 'edge_rejects_total',
    when: 'A policy refuses the target or the size.',
  },
  Backpressure: {
    code: 'backpressure',
    status: 503,
    retry: 'later',
    metric: 'rejected_total',
    when: 'Brownout: bridges are shed first.',
  },
  Integrity: {
    code: 'integrity',
    status: 502,
    retry: 'never',
    metric: 'integrity_failures_total',
    when: 'Bytes do not match the address or signature that names them.',
  },
  NotFound: {
    code: 'not_found',
    status: 404,
    retry: 'never',
    metric: '',
    when: 'There is nothing under this name or address.',
  },
  Unauthorized: {
    code: 'unauthorized',
    status: 401,
    retry: 'never',
    metric: '',
    when: 'A capability or signature is missing or does not verify.',
  },
  Forbidden: {
    code: 'forbidden',
    status: 403,
    retry: 'never',
    metric: '',
    when: 'What was presented does not allow this, or nothing does.',
  },
  Conflict: {
    code: 'conflict',
    status: 409,
    retry: 'never',
    metric: '',
    when: 'The state of the resource does not admit the request.',
  },
  TooLarge: {
    code: 'too_large',
    status: 413,
    retry: 'never',
    metric: '',
    when: 'A body, a header or a decoded size is above its bound.',
  },
  Malformed: {
    code: 'malformed',
    status: 400,
    retry: 'never',
    metric: '',
    when: 'The input is not of the required form.',
  },
  Internal: {
    code: 'internal',
    status: 500,
    retry: 'never',
    metric: 'internal_errors_total',
    when: 'A defect of ours; the log has the cause.',
  },
} as const satisfies Record<string, ErrorRow>

export type ErrorKind = keyof typeof ERRORS

export interface ErrorOptions {
  /** A service's own stable code; the kind's default otherwise. */
  readonly code?: string
  /** A status of the same class as the kind's (507 for a full disk, 408 for a slow body). */
  readonly status?: number
  /** When to try again; becomes `Retry-After`. */
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

/** The only error thrown on purpose: a kind from the table, a sentence for the reader, and what to do next. */
export class CairnError extends Error {
  override readonly name = 'CairnError'
  readonly kind: ErrorKind
  readonly code: string
  readonly status: number
  readonly retryAfterMs: number | undefined

  constructor(kind: ErrorKind, detail: string, options: ErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.kind = kind
    this.code = options.code ?? ERRORS[kind].code
    this.status = options.status ?? ERRORS[kind].status
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Whether `error` is one of ours, of this kind. */
export function isKind(error: unknown, kind: ErrorKind): error is CairnError {
  return error instanceof CairnError && error.kind === kind
}

/** Any thrown value as one of ours; what we did not throw on purpose is `Internal`. */
export function toCairnError(error: unknown): CairnError {
  if (error instanceof CairnError) return error
  // What went wrong first counts, not that tidying up after it failed as well.
  if (error instanceof SuppressedError) return toCairnError(error.suppressed)
  return new CairnError('Internal', error instanceof Error ? error.message : String(error), { cause: error })
}
