/** An upstream in virtual time: answers as it is told, and counts what it is asked. */
import { CairnError, Cancel, canceled, sleep } from '@cairn/kernel'
import { type Platform, UrlPolicy } from '@cairn/platform'
import {
  abortable,
  type IncomingBody,
  type IncomingResponse,
  type OutgoingRequest,
  type Transport,
} from '@cairn/transport'

/** One piece after the other: bytes, a pause in milliseconds, or the end of the connection. */
export type Piece = Uint8Array | string | number

export interface Told {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: readonly Piece[]
  /** Before the header. */
  readonly afterMs?: number
  /** Said at once, before the header. */
  readonly interim?: readonly (readonly [status: number, headers: Readonly<Record<string, string>>])[]
  /** Instead of a header. */
  readonly fails?: 'reset' | 'unreachable' | 'silence'
}

export type Upstream = (request: OutgoingRequest, count: number) => Told

/** A reset is a word in a list of pieces that may otherwise hold any text. */
const RESET = 'reset'

export class FakeUpstream implements Transport {
  readonly requests: OutgoingRequest[] = []
  /** Bodies that were given up before their end. */
  canceled = 0
  answer: Upstream
  readonly #platform: Platform
  readonly #allow: () => readonly string[]

  constructor(platform: Platform, allow: () => readonly string[], answer: Upstream = () => ({ status: 404 })) {
    this.#platform = platform
    this.#allow = allow
    this.answer = answer
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    new UrlPolicy({ allow: this.#allow() }).check(request.url)
    this.requests.push(request)
    const { clock } = this.#platform
    const {
      status = 200,
      headers = {},
      body = [],
      afterMs = 1,
      fails,
      interim = [],
    } = this.answer(request, this.requests.length)
    const cancel = new Cancel({ signals: [request.signal], deadline: request.deadline, operation: 'the upstream' })
    for (const [code, fields] of interim) request.onInterim?.(code, fields)
    try {
      await sleep(clock, fails === 'silence' ? 1_000_000 : afterMs, { signal: cancel.signal })
      if (fails === 'reset') throw lost()
      if (fails === 'unreachable') throw new CairnError('Timeout', 'Not there.', { code: 'unreachable', status: 502 })
    } catch (error) {
      cancel[Symbol.dispose]()
      throw error
    }
    const hasNone = status === 204 || status === 304
    const isEmpty = request.method === 'HEAD' || hasNone
    const length = body.reduce<number>(
      (sum, piece) => sum + (typeof piece === 'number' ? 0 : Buffer.byteLength(piece)),
      0,
    )
    const declared = hasNone || 'transfer-encoding' in headers ? {} : { 'content-length': String(length) }
    return {
      status,
      headers: { ...declared, ...headers },
      body: this.#body(isEmpty ? [] : body, headers, length, cancel),
    }
  }

  #body(
    pieces: readonly Piece[],
    headers: Readonly<Record<string, string>>,
    sent: number,
    cancel: Cancel,
  ): IncomingBody {
    const { clock } = this.#platform
    const giveUp = (): void => {
      this.canceled += 1
      cancel[Symbol.dispose]()
    }
    const declared = headers['content-length']
    return {
      async *[Symbol.asyncIterator]() {
        try {
          for (const piece of pieces) {
            if (cancel.signal.aborted) throw canceled(cancel.signal)
            if (piece === RESET) throw lost()
            if (typeof piece === 'number')
              await abortable(cancel.signal, sleep(clock, piece, { signal: cancel.signal }))
            else yield Buffer.from(piece as Uint8Array)
          }
          // As a real client does: a body that ends before its length is a lost connection.
          if (declared !== undefined && Number(declared) > sent) throw lost()
        } finally {
          cancel[Symbol.dispose]()
        }
      },
      cancel: giveUp,
    }
  }

  async close(): Promise<void> {
    await Promise.resolve()
  }
}

function lost(): CairnError {
  return new CairnError('Timeout', 'The connection was lost.', { code: 'connection_lost', status: 502 })
}
