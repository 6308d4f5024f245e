/**
 * One request and its answer on one socket.
 *
 *     message ─▶ ingress.handle ─▶ send ─┬─ whole and small: one write
 *                                        ├─ long or streamed: slice by slice, at the client's pace
 *                                        └─ before the body is in: answer, linger, close
 */
import type { IncomingMessage } from 'node:http'
import { type Clock, type Log, type Metrics, type Timer, toCairnError } from '@cairn/kernel'
import { isStream, type ListenerKind, type Peer } from '@cairn/transport'
import { RequestHeaders } from '../request/request-headers.ts'
import { discardBody } from '../response/accounted-stream.ts'
import type { CompletedResponse, IngressRequest } from '../response/message.ts'
import type { HttpConnection } from './connections.ts'
import { NodeBody } from './node-body.ts'
import { type Pacer, Transfer } from './pacer.ts'
import type { PlainHead } from './plain-head.ts'
import type { ResponseSink, Sender } from './response-sink.ts'

/** What all exchanges of a listener share. */
export interface ExchangeHost {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
  readonly pacer: Pacer
  readonly listenerKind: ListenerKind
  /** Answers tell clients not to come back on this connection. */
  readonly isLeaving: boolean
}

/** Written at once; what is longer goes out slice by slice, so that a slow client can be told from a stalled one. */
const SLICE_BYTES = 64 * 1024

/** After an early refusal: long enough for the answer to be read, too little to be worth sending to. */
const LINGER_BYTES = 64 * 1024
const LINGER_MS = 1000

/** A request with all that may come with it, as `node:http` read it. */
export interface FullMessage {
  readonly message: IncomingMessage
  readonly expectsContinue: boolean
  /** Tells a waiting client to send its body. */
  readonly askForBody: () => void
}

export class NodeExchange implements IngressRequest, Sender {
  readonly method: string
  readonly target: string
  readonly headers: RequestHeaders
  readonly body: NodeBody | undefined
  readonly #host: ExchangeHost
  readonly #connection: HttpConnection
  /** Absent when there is no body and nothing else to come. */
  readonly #message: IncomingMessage | undefined
  readonly #response: ResponseSink
  readonly #expectsContinue: boolean
  #controller: AbortController | undefined
  #transfer: Transfer | undefined
  #stream: AsyncIterator<Uint8Array> | undefined
  #held: Disposable | undefined
  /** HTTP/1.0, which knows no interim answers. */
  readonly #isOld: boolean
  #isSent = false
  #isKept = false
  #isAnswering = false
  #isClosed = false
  #onGone: (() => void) | undefined
  #lingering: Timer | undefined

  constructor(
    host: ExchangeHost,
    connection: HttpConnection,
    response: ResponseSink,
    request: PlainHead | FullMessage,
  ) {
    this.#host = host
    this.#connection = connection
    this.#response = response
    if ('fields' in request) {
      this.method = request.method
      this.target = request.target
      this.headers = request.fields
      this.#expectsContinue = false
      this.#isOld = false
      return
    }
    const { message, expectsContinue, askForBody } = request
    this.#expectsContinue = expectsContinue
    this.#isOld = message.httpVersionMajor === 1 && message.httpVersionMinor === 0
    this.method = message.method ?? ''
    this.target = message.url ?? ''
    this.headers = new RequestHeaders(message.rawHeaders)
    if (!hasBody(this.headers)) return
    this.#message = message
    this.body = new NodeBody(message, host.pacer, host.metrics, askForBody)
  }

  /** It goes on after this call: from now on the connection is busy, and its end is heard of. */
  keep(): void {
    if (this.#isKept) return
    this.#isKept = true
    this.#connection.active += 1
    this.#response.onClose(() => this.#onClose())
  }

  get peer(): Peer {
    return this.#connection.peer
  }

  get listenerKind(): ListenerKind {
    return this.#host.listenerKind
  }

  get crowded(): boolean {
    return this.#connection.crowded
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#isClosed && !this.#response.isFinished) this.#controller.abort()
    }
    return this.#controller.signal
  }

  inform(status: number, headers: readonly string[]): void {
    if (this.#isClosed || this.#isSent || this.#isOld) return
    try {
      this.#response.inform(status, headers)
    } catch (error) {
      // Only a hint is lost.
      this.#host.log.debug({ error: toCairnError(error).message }, 'an interim answer cannot be sent')
    }
  }

  /** Sends the answer; whatever goes wrong with that ends the connection, never the answer as if it were whole. */
  send(answer: CompletedResponse): void {
    const { body } = answer
    this.#isSent = true
    if (this.#isClosed) {
      if (isStream(body)) discardBody(body)
      answer.held?.[Symbol.dispose]()
      return
    }
    this.#held = answer.held
    const isEarly = this.#message !== undefined && !this.#message.complete && !this.#isWorthKeeping
    const isWhole = !isStream(body) && (body?.length ?? 0) <= SLICE_BYTES
    if (isEarly || !isWhole) this.keep()
    try {
      this.#response.writeHead(answer.status, answer.headers, this.#closingHeaders(answer, isEarly))
    } catch (error) {
      if (isStream(body)) discardBody(body)
      this.keep()
      this.#fail(error)
      return
    }
    if (this.#isKept) {
      this.#isAnswering = true
      this.#connection.answering += 1
    }
    if (isStream(body)) {
      // Without a length the first bytes may come late; the client should not wait for them to see the head.
      if (!answer.headers.includes('Content-Length')) this.#response.flushHead()
      this.#pump(body, isEarly).catch((error: unknown) => this.#fail(error))
    } else if (isWhole || body === undefined) {
      this.#sendWhole(body, isEarly)
    } else {
      this.#writeAll(asBytes(body), isEarly).catch((error: unknown) => this.#fail(error))
    }
  }

  /** Skipping a short unread body costs less than a new connection. */
  get #isWorthKeeping(): boolean {
    const length = Number(this.headers.slot('content-length') ?? Number.NaN)
    return length <= LINGER_BYTES && this.body?.isStarted === false && !this.#expectsContinue
  }

  #closingHeaders({ added }: CompletedResponse, isEarly: boolean): readonly string[] {
    const closes = (isEarly || this.#host.isLeaving || this.crowded) && !added.includes('Connection')
    return closes ? [...added, 'Connection', 'close'] : added
  }

  #sendWhole(body: string | Uint8Array | undefined, isEarly: boolean): void {
    const response = this.#response
    if (isEarly) {
      if (body === undefined) response.flushHead()
      else response.write(body)
      this.#linger()
      return
    }
    response.end(body, this)
  }

  /** For the sink, once it has written what `end` gave it. */
  sent(isAll: boolean): void {
    if (isAll) {
      // All of it is with the system: the buffer is free, and the end needs no notice.
      this.#release()
      return
    }
    this.keep()
    // Behind another answer on the same connection it is not the client that keeps us waiting.
    if (this.#response.isOnTurn) this.#host.pacer.wait(this.#writing())
  }

  async #pump(body: AsyncIterable<Uint8Array>, isEarly: boolean): Promise<void> {
    const stream = body[Symbol.asyncIterator]()
    this.#stream = stream
    for (let step = await stream.next(); step.done !== true; step = await stream.next()) {
      if (!(await this.#write(step.value))) return
    }
    this.#stream = undefined
    this.#end(isEarly)
  }

  async #writeAll(bytes: Uint8Array, isEarly: boolean): Promise<void> {
    if (await this.#write(bytes)) this.#end(isEarly)
  }

  #end(isEarly: boolean): void {
    if (isEarly && this.#message?.complete === false) this.#linger()
    else this.#response.end(undefined, this)
  }

  /** False once the client is gone: nothing more may be written, though its connection may not be closed yet. */
  async #write(chunk: Uint8Array): Promise<boolean> {
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
      const slice = chunk.length <= SLICE_BYTES ? chunk : chunk.subarray(at, at + SLICE_BYTES)
      if (this.#isClosed || !(await this.#writeSlice(slice))) return false
    }
    return !this.#isClosed
  }

  /**
   * Resolves once the bytes are with the system (true), or the client is gone. Not before: until then they belong to the
   * socket, and their source may fill the same buffer again as soon as the next are asked for.
   */
  async #writeSlice(slice: Uint8Array): Promise<boolean> {
    const { pacer } = this.#host
    const transfer = this.#writing()
    const isTaken = await new Promise<boolean>((resolve) => {
      this.#onGone = () => resolve(false)
      this.#response.write(slice, (error) => resolve(error === undefined || error === null))
      // Behind another answer on the same connection it is not the client that keeps us waiting.
      if (this.#response.isOnTurn) pacer.wait(transfer)
    })
    this.#onGone = undefined
    return isTaken && pacer.progress(transfer, slice.length)
  }

  #writing(): Transfer {
    this.#transfer ??= new Transfer('write', () => {
      this.#host.metrics.count('io_timeouts_total', { op: 'write' })
      this.#response.destroy()
    })
    return this.#transfer
  }

  /** Reads a little more of what the client is still sending, so that it gets to read our answer; then closes. */
  #linger(): void {
    const message = this.#message
    if (message === undefined) return
    this.#connection.isLeaving = true
    let drained = 0
    const end = (): void => {
      this.#lingering?.cancel()
      this.#lingering = undefined
      this.#response.end(undefined, this)
    }
    this.#lingering = this.#host.clock.timer(LINGER_MS, end)
    message.on('error', () => {})
    message.once('end', end)
    message.on('data', (chunk: Uint8Array) => {
      drained += chunk.length
      if (drained >= LINGER_BYTES) message.pause()
    })
    message.resume()
  }

  #fail(error: unknown): void {
    if (!this.#isClosed) {
      const { kind, message } = toCairnError(error)
      this.#host.log.error({ kind, error: message }, 'answer broken off')
    }
    this.#response.destroy()
  }

  #onClose(): void {
    this.#isClosed = true
    this.#connection.active -= 1
    if (this.#isAnswering) this.#connection.answering -= 1
    this.#lingering?.cancel()
    this.#lingering = undefined
    if (this.#transfer !== undefined) this.#host.pacer.drop(this.#transfer)
    if (!this.#response.isFinished) this.#controller?.abort()
    this.#stream?.return?.().catch(() => {})
    this.#release()
    this.#onGone?.()
  }

  #release(): void {
    this.#held?.[Symbol.dispose]()
    this.#held = undefined
  }
}

function asBytes(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}

/** A message has a body exactly when one of these fields says so. */
function hasBody(headers: RequestHeaders): boolean {
  const length = headers.slot('content-length')
  return headers.slot('transfer-encoding') !== undefined || (length !== undefined && length !== '0')
}
