/** Errors as `application/problem+json` (RFC 9457): written for clients, and read from the answers of services. */
import { CairnError, ERRORS, type ErrorKind } from '@cairn/kernel'

/** The kind of an error by its status, where its code is unknown here. */
const KIND_BY_STATUS: ReadonlyMap<number, ErrorKind> = new Map<number, ErrorKind>([
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [408, 'Timeout'],
  [409, 'Conflict'],
  [410, 'NotFound'],
  [412, 'Conflict'],
  [413, 'TooLarge'],
  [423, 'Conflict'],
  [429, 'Busy'],
  [431, 'TooLarge'],
  // A server behind the target failed; a retry may reach another.
  [502, 'Timeout'],
  [503, 'Backpressure'],
  [504, 'Timeout'],
  [507, 'StorageBusy'],
])

/** An answer that is not 2xx. */
export interface ProblemResponse {
  readonly status: number
  readonly contentType: string | null | undefined
  readonly retryAfter: string | null | undefined
  readonly text: string
}

/** Returns the error the service had: code, status, sentence and time to wait are its own, the cause has every field. */
export function problemError({ status, contentType, retryAfter, text }: ProblemResponse, target: string): CairnError {
  const isProblem = contentType?.split(';')[0]?.trim().toLowerCase() === PROBLEM_MEDIA_TYPE
  const problem = isProblem ? objectIn(text) : undefined
  const { code, detail, retry_after: seconds } = problem ?? {}
  const isWhole = typeof code === 'string' && typeof detail === 'string'
  const name = isWhole ? code : `http_${status}`
  const retryAfterMs = waitMs(retryAfter ?? undefined, isWhole ? seconds : undefined)
  return new CairnError(kindOf(status, name), isWhole ? detail : `${target} answered ${status} without saying why.`, {
    code: name,
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(isWhole ? { cause: problem } : {}),
  })
}

function kindOf(status: number, code: string): ErrorKind {
  // The one code of ours that neither its name nor its status gives away.
  if (code === 'LogDamaged') return 'Integrity'
  const kinds = Object.keys(ERRORS) as ErrorKind[]
  // Some services spell codes as kinds are spelled.
  const isNamed = (kind: ErrorKind): boolean => kind === code || ERRORS[kind].code === code
  // Their end is not ours: what they say was canceled there is worth asking for again.
  const named = kinds.find((kind) => kind !== 'Canceled' && isNamed(kind) && ERRORS[kind].status === status)
  return named ?? KIND_BY_STATUS.get(status) ?? (status < 500 ? 'Malformed' : 'Internal')
}

/** Parses a JSON object; returns undefined for anything else. */
export function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Reads whole seconds from the header or else the body; a date is ignored. */
function waitMs(header: string | undefined, field: unknown): number | undefined {
  const seconds = header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) : field
  return typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : undefined
}

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

/** Returns the problem for `error`; a defect of ours is named but not described, the log has the rest. */
export function problemOf(error: CairnError, correlationId: string): Problem {
  const isOurs = error.kind === 'Internal'
  const problem = {
    type: `urn:cairn:problem:${error.code}`,
    title: ERRORS[error.kind].when,
    status: error.status,
    detail: isOurs ? 'The node failed; give the correlation id to its operator.' : error.message,
    code: error.code,
    corr_id: correlationId,
  }
  if (error.retryAfterMs === undefined) return problem
  return { ...problem, retry_after: Math.max(1, Math.ceil(error.retryAfterMs / 1000)) }
}
