import { CairnError, canceled } from '@cairn/kernel'

/** Codes of Node and undici for a target that is not there. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'ENOENT',
  'EACCES',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'ENODATA',
])

/** Codes for a connection that was there and is not any more. */
const LOST: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET'])

const TIMEOUTS: ReadonlySet<string> = new Set([
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
])

/** We closed the transport under the request. */
const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_CLOSED', 'UND_ERR_DESTROYED', 'UND_ERR_ABORTED'])

/** The request itself is not one HTTP can carry. */
const REFUSED: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_NOT_SUPPORTED',
])

const UNTRUSTED = /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH|EPROTO)/

/** What became of a request, as one of our errors; `signal` is the request's own, deadline included. */
export function transportError(error: unknown, target: string, signal: AbortSignal): CairnError {
  if (error instanceof CairnError) return error
  if (signal.aborted) return canceled(signal)
  const code = codeOf(error)
  const cause = error
  if (TIMEOUTS.has(code)) return new CairnError('Timeout', `${target} did not answer in time.`, { cause })
  if (UNREACHABLE.has(code)) {
    const detail = `${target} cannot be reached (${code}).`
    return new CairnError('Timeout', detail, { code: 'unreachable', status: 502, cause })
  }
  if (LOST.has(code)) {
    const detail = `${target} closed the connection before the answer was complete.`
    return new CairnError('Timeout', detail, { code: 'connection_lost', status: 502, cause })
  }
  if (CLOSED.has(code)) return new CairnError('Canceled', `The request to ${target} was given up.`, { cause })
  if (REFUSED.has(code))
    return new CairnError('Malformed', `The request to ${target} cannot be sent as HTTP.`, { cause })
  if (UNTRUSTED.test(code)) {
    const detail = `${target} does not prove who it is (${code}); check its certificate.`
    return new CairnError('Integrity', detail, { code: 'tls_untrusted', cause })
  }
  return new CairnError('Internal', `${target} sent what is not an HTTP answer (${code}).`, {
    code: 'bad_answer',
    status: 502,
    cause,
  })
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  if (!(error instanceof Error)) return ''
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return code === '' && error.cause !== undefined ? codeOf(error.cause) : code
}
