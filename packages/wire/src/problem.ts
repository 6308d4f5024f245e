/** Errors as clients see them: `application/problem+json` (RFC 9457). */
import { type CairnError, ERRORS } from '@cairn/kernel'

export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** Stable; what a program switches on. */
  readonly code: string
  readonly corr_id: string
  /** Whole seconds, as in the `Retry-After` header. */
  readonly retry_after?: number
}

/** The problem that tells a client about `error`; a defect of ours is named but not described, the log has the rest. */
export function problemOf(error: CairnError, correlationId: string): Problem {
  const isOurs = error.kind === 'Internal'
  const problem = {
    type: `urn:cairn:problem:${error.code}`,
    title: ERRORS[error.kind].when,
    status: error.status,
    detail: isOurs ? 'Something failed on this side; give the correlation id to whoever runs the node.' : error.message,
    code: error.code,
    corr_id: correlationId,
  }
  if (error.retryAfterMs === undefined) return problem
  return { ...problem, retry_after: Math.max(1, Math.ceil(error.retryAfterMs / 1000)) }
}
