/**
 * One request and its answer on one socket.
 *
 *     message ─▶ ingress.handle ─▶ send ─┬─ whole and small: one write
 *                                        ├─ long or streamed: slice by slice, at the client's pace
 *                                        └─ before the body is in: answer, linger, close
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, type Log, type Metrics, type Timer, toCairnError } from '@cairn/kernel'
import { letGo } from './accounted-stream.ts'
import type { Connection } from './connections.ts'
import { type Door, type IngressRequest, type IngressResponse, isStream, type Peer } from './message.ts'
import { NodeBody } from './node-body.ts'
import { type Pacer, Transfer } from './pacer.ts'

/** What all exchanges of a listener share. */
export interface ExchangeHost {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
  readonly pacer: Pacer
  readonly door: Door
  /** Answers tell clients not to come back on this connection. */
  readonly isLeaving: boolean
}

/** Written at once; what is longer goes out slice by slice, so that a slow client can be told from a stalled one. */
const SLICE_BYTES = 64 * 1024

/** The longest body that is cheaper to copy than to hand over beside its head. */
const TEXT_BYTES = 8 * 1024

/** After an early refusal: long enough for the answer to be read, too little to be worth sending to. */
const LINGER_BYTES = 64 * 1024
const LINGER_MS = 1000

export class NodeExchange implements IngressRequest {
  readonly method: string
  readonly target: string
  readonly headers: readonly string[]
  readonly body: NodeBody | undefined
  readonly #host: ExchangeHost
  readonly #connection: Connection
  readonly #message: IncomingMessage
  readonly #response: ServerResponse
  readonly #expectsContinue: boolean
  #controller: AbortController | undefined
  #transfer: Transfer | undefined
  #stream: AsyncIterator<Uint8Array> | undefined
  #held: Disposable | undefined
  #isKept = false
  #isAnswering = false
  #isClosed = false
  #onGone: (() => void) | undefined
  #lingering: Timer | undefined

  constructor(
    host: ExchangeHost,
    connection: Connection,
    message: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
  ) {
    this.#host = host
    this.#connection = connection
    this.#message = message
    this.#response = response
    this.#expectsContinue = expectsContinue
    this.method = message.method ?? ''
    this.target = message.url ?? ''
    this.headers = message.rawHeaders
    this.body = hasBody(message)
      ? new NodeBody(message, host.pacer, host.metrics, () => {
          if (expectsContinue && !response.headersSent) response.writeContinue()
        })
      : undefined
  }

  /** It goes on after this call: from now on the connection is busy, and its end is heard of. */
  keep(): void {
    if (this.#isKept) return
    this.#isKept = true
    this.#connection.active += 1
    this.#response.on('close', () => this.#onClose())
  }

  get peer(): Peer {
    return this.#connection.peer
  }

  get door(): Door {
    return this.#host.door
  }

  get crowded(): boolean {
    return this.#connection.crowded
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#isClosed && !this.#response.writableFinished) this.#controller.abort()
    }
    return this.#controller.signal
  }

  /** Sends the answer; whatever goes wrong with that ends the connection, never the answer as if it were whole. */
  send(answer: IngressResponse): void {
    const { body } = answer
    if (this.#isClosed) {
      if (isStream(body)) letGo(body)
      answer.held?.[Symbol.dispose]()
      return
    }
    this.#held = answer.held
    const isEarly = this.body !== undefined && !this.#message.complete && !this.#isWorthKeeping
    const isWhole = !isStream(body) && (body?.length ?? 0) <= SLICE_BYTES
    if (isEarly || !isWhole) this.keep()
    try {
      this.#response.writeHead(answer.status, this.#closingHeaders(answer.headers, isEarly))
    } catch (error) {
      if (isStream(body)) letGo(body)
      this.keep()
      this.#fail(error)
      return
    }
    if (this.#isKept) {
      this.#isAnswering = true
      this.#connection.answering += 1
    }
    if (isStream(body)) {
      // Without a length nobody knows when the first bytes come; the client should not wait for them to see the head.
      if (!answer.headers.includes('Content-Length')) this.#response.flushHeaders()
      this.#pump(body, isEarly).catch((error: unknown) => this.#fail(error))
    } else if (isWhole || body === undefined) {
      this.#sendWhole(body, isEarly)
    } else {
      this.#writeAll(asBytes(body), isEarly).catch((error: unknown) => this.#fail(error))
    }
  }

  /** A short body nobody began to read costs less to skip than a new connection. */
  get #isWorthKeeping(): boolean {
    const length = Number(this.#message.headers['content-length'] ?? Number.NaN)
    return length <= LINGER_BYTES && this.body?.isStarted === false && !this.#expectsContinue
  }

  #closingHeaders(headers: readonly string[], isEarly: boolean): string[] {
    const all = headers as string[]
    const closes = (isEarly || this.#host.isLeaving || this.crowded) && !headers.includes('Connection')
    return closes ? [...headers, 'Connection', 'close'] : all
  }

  #sendWhole(body: string | Uint8Array | undefined, isEarly: boolean): void {
    const response = this.#response
    if (isEarly) {
      if (body === undefined) response.flushHeaders()
      else response.write(body)
      this.#linger()
      return
    }
    // As one text with the head, a short body costs one plain write instead of a gathered one.
    if (body instanceof Uint8Array && body.length <= TEXT_BYTES) response.end(textOf(body), 'latin1')
    else response.end(body)
    const { socket } = this.#message
    const isTheirTurn = response.socket === socket
    if (isTheirTurn && socket.writableLength === 0) {
      // All of it is with the system: nobody needs the buffer any more, or has to hear of the end.
      this.#letGo()
      return
    }
    this.keep()
    if (isTheirTurn) this.#host.pacer.wait(this.#writing())
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
    if (isEarly && !this.#message.complete) this.#linger()
    else this.#response.end()
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
   * socket, and whoever gave them may fill the same buffer again as soon as the next are asked for.
   */
  async #writeSlice(slice: Uint8Array): Promise<boolean> {
    const { pacer } = this.#host
    const transfer = this.#writing()
    const isTaken = await new Promise<boolean>((resolve) => {
      this.#onGone = () => resolve(false)
      this.#response.write(slice, (error) => resolve(error === undefined || error === null))
      // Behind another answer on the same connection it is not the client that keeps us waiting.
      if (this.#response.socket !== null) pacer.wait(transfer)
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
    this.#connection.isLeaving = true
    let drained = 0
    const end = (): void => {
      this.#lingering?.cancel()
      this.#lingering = undefined
      this.#response.end()
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
    if (!this.#response.writableFinished) this.#controller?.abort()
    this.#stream?.return?.().catch(() => {})
    this.#letGo()
    this.#onGone?.()
  }

  #letGo(): void {
    this.#held?.[Symbol.dispose]()
    this.#held = undefined
  }
}

/** Bytes as the text whose characters they are. */
function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1')
}

function asBytes(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}

/** A message has a body exactly when one of these fields says so. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
