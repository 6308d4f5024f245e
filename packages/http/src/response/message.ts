/** Requests as the pipeline sees them, and makers of common answers. */
import { CairnError, ERRORS } from '@cairn/kernel'
import type { IngressResponse, RequestMessage } from '@cairn/transport'
import { PROBLEM_MEDIA_TYPE, problemOf } from '@cairn/wire'
import type { RequestHeaders } from '../request/request-headers.ts'
import { problemPage } from './problem-page.ts'

const JSON_HEADERS: readonly string[] = ['Content-Type', 'application/json']

/** Makes an answer with `value` as JSON. */
export function json(status: number, value: unknown, headers: readonly string[] = []): IngressResponse {
  const all = headers.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...headers]
  return { status, headers: all, body: JSON.stringify(value) }
}

/** Makes an answer without a body. */
export function empty(status: number, headers: readonly string[] = []): IngressResponse {
  return { status, headers }
}

/** When to try again, if the error does not say. */
const RETRY_AFTER_MS = 1000

/** Fields beside those of the problem itself, and headers beside those every problem has. */
export interface ProblemExtras {
  readonly fields?: Readonly<Record<string, unknown>>
  readonly headers?: readonly string[]
  /** A person reads it in a browser: the same content as a page. */
  readonly isPage?: boolean
}

/** Makes the answer to a refusal or a failure, with everything its status demands. */
export function problem(
  error: CairnError,
  corrId: string,
  { fields, headers = [], isPage = false }: ProblemExtras = {},
): IngressResponse & { readonly body: string } {
  const told = withRetryTime(error)
  const body = problemOf(told, corrId)
  const page = isPage ? problemPage(body) : undefined
  const type = page?.headers ?? ['Content-Type', PROBLEM_MEDIA_TYPE]
  const all = [...type, 'Cache-Control', 'no-store', ...headers]
  if (body.retry_after !== undefined) all.push('Retry-After', String(body.retry_after))
  if (told.status === 401) all.push('WWW-Authenticate', `Bearer realm="cairn", error="${told.code}"`)
  return {
    status: told.status,
    headers: all,
    body: page?.body ?? JSON.stringify(fields === undefined ? body : { ...body, ...fields }),
  }
}

/** 429 and 503 always say when to come back. */
function withRetryTime(error: CairnError): CairnError {
  const { kind, message, code, status, retryAfterMs } = error
  if (retryAfterMs !== undefined || (status !== 429 && status !== 503)) return error
  const isOurs = kind === 'Internal'
  return new CairnError(kind, isOurs ? ERRORS[kind].when : message, { code, status, retryAfterMs: RETRY_AFTER_MS })
}

export interface IngressRequest extends Omit<RequestMessage, 'headers'> {
  /** `name, value, name, value …` as received, so that a repeated field can be seen; or the same, read already. */
  readonly headers: readonly string[] | RequestHeaders
}

/** An answer, and the fields that are this request's and not the answer's own. */
export interface CompletedResponse extends IngressResponse {
  readonly added: readonly string[]
}
