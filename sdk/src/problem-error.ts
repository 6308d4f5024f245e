/** What a service answered instead of what it was asked for, as the error it was over there. */
import { CairnError, ERRORS, type ErrorKind } from '@cairn/kernel'
import { PROBLEM_MEDIA_TYPE } from '@cairn/wire'

/** What a status means where the code is one we do not know. */
const KIND_BY_STATUS: ReadonlyMap<number, ErrorKind> = new Map<number, ErrorKind>([
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [408, 'Timeout'],
  [409, 'Conflict'],
  [412, 'Conflict'],
  [413, 'TooLarge'],
  [429, 'Busy'],
  [431, 'TooLarge'],
  [502, 'Timeout'],
  [503, 'Backpressure'],
  [504, 'Timeout'],
  [507, 'StorageBusy'],
])

/** The error with the other side's code, status, sentence and time to wait; its cause has every field of the problem. */
export function problemError({ status, headers }: Pick<Response, 'status' | 'headers'>, text: string): CairnError {
  const isProblem = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() === PROBLEM_MEDIA_TYPE
  const problem = isProblem ? fieldsOf(text) : {}
  const code = typeof problem['code'] === 'string' ? problem['code'] : `http_${status}`
  const detail =
    typeof problem['detail'] === 'string' ? problem['detail'] : `The service answered ${status} without saying why.`
  const retryAfterMs = waitMs(headers.get('retry-after') ?? String(problem['retry_after']))
  return new CairnError(kindOf(status, code), detail, {
    code,
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    cause: problem,
  })
}

/** The other side speaks, but not as agreed. */
export function badAnswer(why: string, cause?: unknown): CairnError {
  return new CairnError('Internal', `The answer of the service ${why}.`, { code: 'bad_answer', status: 502, cause })
}

function kindOf(status: number, code: string): ErrorKind {
  const kinds = Object.keys(ERRORS) as ErrorKind[]
  const named = kinds.find((kind) => ERRORS[kind].code === code && ERRORS[kind].status === status)
  return named ?? KIND_BY_STATUS.get(status) ?? (status < 500 ? 'Malformed' : 'Internal')
}

/** The fields of the JSON object in `text`; none for anything else. */
export function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Whole seconds; a date is not believed. */
function waitMs(seconds: string): number | undefined {
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : undefined
}
