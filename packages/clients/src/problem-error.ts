/** A refusal of another service, as the error it was over there. */
import { CairnError, ERRORS, type ErrorKind } from '@cairn/kernel'
import type { IncomingResponse } from '@cairn/platform'
import { PROBLEM_MEDIA_TYPE, type Problem } from '@cairn/wire'
import { readText } from './response-body.ts'

/** A problem is a few hundred bytes; more is not read. */
const PROBLEM_BYTES_MAX = 64 * 1024

/** What a status means where the code is one we do not know. */
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
  // Whoever is behind the target failed it; asking again may find another.
  [502, 'Timeout'],
  [503, 'Backpressure'],
  [504, 'Timeout'],
  [507, 'StorageBusy'],
])

/** Reads the body and returns the error. Code, status, sentence and time to wait are the other side's. */
export async function problemError(response: IncomingResponse, target: string): Promise<CairnError> {
  const { status, headers } = response
  const problem = parseProblem(headers['content-type'], await readText(response, PROBLEM_BYTES_MAX))
  const code = problem?.code ?? `http_${status}`
  const retryAfterMs = waitMs(headers['retry-after'], problem?.retry_after)
  return new CairnError(kindOf(status, code), problem?.detail ?? `${target} answered ${status} without saying why.`, {
    code,
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(problem === undefined ? {} : { cause: problem }),
  })
}

function kindOf(status: number, code: string): ErrorKind {
  const kinds = Object.keys(ERRORS) as ErrorKind[]
  const named = kinds.find((kind) => ERRORS[kind].code === code && ERRORS[kind].status === status)
  return named ?? KIND_BY_STATUS.get(status) ?? (status < 500 ? 'Malformed' : 'Internal')
}

type KnownFields = Pick<Problem, 'code' | 'detail' | 'corr_id' | 'retry_after'>

function parseProblem(contentType: string | undefined, text: string): KnownFields | undefined {
  if (contentType?.split(';')[0]?.trim().toLowerCase() !== PROBLEM_MEDIA_TYPE) return undefined
  const fields = parseObject(text)
  const { code, detail, corr_id, retry_after } = fields ?? {}
  if (typeof code !== 'string' || typeof detail !== 'string') return undefined
  return {
    code,
    detail,
    corr_id: typeof corr_id === 'string' ? corr_id : '',
    ...(typeof retry_after === 'number' ? { retry_after } : {}),
  }
}

/** The object a text holds as JSON; undefined for anything else. */
function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Whole seconds, from the header or else the body; a date is not believed. */
function waitMs(header: string | undefined, field: number | undefined): number | undefined {
  const seconds = header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) : field
  return seconds === undefined || !(seconds >= 0) ? undefined : seconds * 1000
}
