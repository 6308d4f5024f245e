/** What the parser could not read, or did not get in time, still gets an answer where one can be given. */
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { CairnError, type Runtime } from '@cairn/kernel'
import { NO_ROUTE } from '../pipeline/metrics.ts'
import { CorrelationIds } from '../request/correlation.ts'
import { problem } from '../response/message.ts'
import type { HttpConnection } from './connections.ts'

/** For the client to read the answer before the connection goes. */
const LINGER_MS = 1000

/** Answers once, and closes; a connection that is in the middle of another answer is only closed. */
export function answerBrokenMessage(runtime: Runtime, connection: HttpConnection, socket: Duplex, error: Error): void {
  if (connection.isLeaving) return
  connection.isLeaving = true
  const refusal = refusalOf('code' in error ? error.code : undefined)
  if (refusal === undefined || !socket.writable || connection.answering > 0) {
    socket.destroy()
    return
  }
  const corrId = new CorrelationIds(runtime).of(undefined)
  const { status, headers, body } = problem(refusal, corrId)
  const fields = [
    ...headers,
    'X-Corr-ID',
    corrId,
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Connection',
    'close',
  ]
  const lines = fields.map((field, at) => (at % 2 === 0 ? `${field}: ` : `${field}\r\n`)).join('')
  runtime.metrics.count('http_requests_total', { route: NO_ROUTE, method: 'other', status: String(status) })
  runtime.metrics.count('rejected_total', { reason: refusal.code })
  if (refusal.kind === 'Timeout') runtime.metrics.count('io_timeouts_total', { op: 'read' })
  const timer = runtime.clock.timer(LINGER_MS, () => {
    socket.destroy()
  })
  socket.once('close', () => timer.cancel())
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}\r\n${body}`)
}

function refusalOf(code: unknown): CairnError | undefined {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new CairnError('TooLarge', 'The header is larger than this service takes.', {
        code: 'header_cap',
        status: 431,
      })
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new CairnError('TooLarge', 'The chunk extensions are larger than this service takes.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new CairnError('Timeout', 'The header did not arrive in time.', { code: 'slow_header', status: 408 })
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined
    default:
      return new CairnError('Malformed', 'This is not an HTTP/1.1 request.')
  }
}
