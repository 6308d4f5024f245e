/**
 * A connection whose requests are plain (`plain-head.ts`), served without `node:http`: no objects but what the answer
 * needs, and one write for head and body.
 *
 *     bytes ─▶ ready ─ a plain head ─▶ answering ─ all of it is with the system ─▶ ready
 *                │                         └─ bytes meanwhile wait
 *                └─ anything else: the connection and its bytes go to `node:http`, for good
 */
import type { Socket } from 'node:net'
import type { HttpConnection } from './connections.ts'
import { type PlainHead, PlainHeads } from './plain-head.ts'
import { interimText, type ResponseHeads, type ResponseSink, type Sender, TEXT_BYTES, textOf } from './response-sink.ts'

/** What comes while an answer is under way, beyond which the client is not listened to. */
const EARLY_BYTES_MAX = 64 * 1024

/**
 * Answers that were made in one turn of the event loop leave together at its end: a client on the same machine is woken
 * once for all of them, and not for each.
 */
export class TurnWriter {
  #waiting: PlainConnection[] = []

  add(connection: PlainConnection): void {
    if (this.#waiting.push(connection) === 1) setImmediate(this.#flush)
  }

  readonly #flush = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const connection of waiting) connection.flush()
  }
}

export interface PlainHost {
  readonly writer: TurnWriter
  readonly heads: ResponseHeads
  /** Until the first request. */
  readonly headerMs: number
  /** Between two requests. */
  readonly idleMs: number
  /** Answers the request on this connection. */
  serve(connection: PlainConnection, head: PlainHead): void
  /** The client said nothing in time. */
  silent(connection: HttpConnection): void
  /** Takes the connection over, with what it has brought so far. */
  handOver(socket: Socket, bytes: Buffer): void
}

export class PlainConnection implements ResponseSink {
  readonly connection: HttpConnection
  readonly socket: Socket
  readonly #host: PlainHost
  readonly #heads = new PlainHeads()
  /** A request is being answered. */
  #isBusy = false
  #hasServed = false
  #early: Buffer[] = []
  #earlyBytes = 0
  /** Of the answer under way. */
  #head = ''
  #isBodyless = false
  #isChunked = false
  #closes = false
  #isHeadRequest = false
  #body: string | Uint8Array | undefined
  #sender: Sender | undefined
  #onClosed: (() => void) | undefined

  constructor(host: PlainHost, connection: HttpConnection) {
    this.#host = host
    this.connection = connection
    this.socket = connection.socket
  }

  /** Reads from now on. */
  start(): void {
    const { socket } = this
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('error', ignore)
    socket.on('close', this.#onClose)
    socket.on('timeout', this.#onTimeout)
    socket.setTimeout(this.#host.headerMs)
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isBusy) {
      this.#keepEarly(bytes)
      return
    }
    const head = this.#heads.read(bytes)
    if (head === undefined) {
      this.#leave()
      this.#host.handOver(this.socket, bytes)
      return
    }
    this.#isBusy = true
    this.#isHeadRequest = head.method === 'HEAD'
    this.#host.serve(this, head)
  }

  #keepEarly(bytes: Buffer): void {
    this.#early.push(bytes)
    this.#earlyBytes += bytes.length
    if (this.#earlyBytes > EARLY_BYTES_MAX) this.socket.pause()
  }

  /** Closes a half-closed connection: a client that stops sending receives no more. */
  readonly #onEnd = (): void => {
    this.socket.end()
  }

  readonly #onTimeout = (): void => {
    if (this.#isBusy) return
    if (this.#hasServed) this.socket.destroy()
    else this.#host.silent(this.connection)
  }

  readonly #onClose = (): void => {
    this.#closed()
  }

  #leave(): void {
    const { socket } = this
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('error', ignore)
    socket.off('close', this.#onClose)
    socket.off('timeout', this.#onTimeout)
    socket.setTimeout(0)
  }

  get isFinished(): boolean {
    return !this.#isBusy
  }

  get isOnTurn(): boolean {
    return true
  }

  inform(status: number, headers: readonly string[]): void {
    this.socket.write(interimText(status, headers), 'latin1')
  }

  writeHead(status: number, headers: readonly string[], added: readonly string[]): void {
    const last = added.lastIndexOf('Connection')
    this.#closes = last !== -1
    const own = this.#closes ? added.toSpliced(last, 2) : added
    this.#isBodyless = this.#isHeadRequest || status === 204 || status === 304
    this.#isChunked = !this.#isBodyless && !added.includes('Content-Length') && !headers.includes('Content-Length')
    const framed = this.#isChunked ? [...own, 'Transfer-Encoding', 'chunked'] : own
    this.#head = this.#host.heads.text(status, headers, framed, this.#closes)
  }

  flushHead(): void {
    const head = this.#takeHead()
    if (head !== '') this.socket.write(head, 'latin1')
  }

  write(bytes: string | Uint8Array, done?: (error?: Error | null) => void): void {
    const { socket } = this
    socket.cork()
    const start = this.#takeHead() + (this.#isChunked ? `${Buffer.byteLength(bytes).toString(16)}\r\n` : '')
    if (start !== '') socket.write(start, 'latin1')
    if (this.#isChunked) {
      socket.write(bytes)
      socket.write('\r\n', 'latin1', done)
    } else socket.write(bytes, done)
    socket.uncork()
  }

  end(body: string | Uint8Array | undefined, sender: Sender): void {
    this.#body = body
    this.#sender = sender
    this.connection.active += 1
    this.#host.writer.add(this)
  }

  /** Writes what `end` was given. */
  flush(): void {
    const { socket } = this
    const body = this.#body
    const sender = this.#sender
    this.#body = undefined
    this.#sender = undefined
    this.connection.active -= 1
    if (body !== undefined && !this.#isBodyless) this.#endWith(body)
    else {
      const rest = this.#takeHead() + (this.#isChunked ? '0\r\n\r\n' : '')
      if (rest !== '') socket.write(rest, 'latin1')
    }
    const isSent = socket.writableLength === 0
    sender?.sent(isSent)
    if (isSent) this.#finish()
    // Behind everything else: once this is with the system, all of it is.
    else socket.write('', () => this.#finish())
  }

  #endWith(body: string | Uint8Array): void {
    const { socket } = this
    if (this.#isChunked) {
      this.write(body)
      socket.write('0\r\n\r\n', 'latin1')
    } else if (typeof body === 'string') socket.write(this.#takeHead() + body)
    // As one text with the head, a short body costs one plain write instead of a gathered one.
    else if (body.length <= TEXT_BYTES) socket.write(this.#takeHead() + textOf(body), 'latin1')
    else {
      socket.cork()
      socket.write(this.#takeHead(), 'latin1')
      socket.write(body)
      socket.uncork()
    }
  }

  destroy(): void {
    this.socket.destroy()
  }

  onClose(closed: () => void): void {
    this.#onClosed = closed
  }

  #takeHead(): string {
    const head = this.#head
    this.#head = ''
    return head
  }

  #finish(): void {
    if (!this.#isBusy || this.socket.destroyed) return
    this.#isBusy = false
    if (!this.#hasServed) {
      this.#hasServed = true
      this.socket.setTimeout(this.#host.idleMs)
    }
    if (this.#closes) {
      this.socket.off('data', this.#onData)
      this.socket.resume()
      this.socket.destroySoon()
    } else if (this.#early.length > 0) process.nextTick(this.#readEarly)
    this.#closed()
  }

  readonly #readEarly = (): void => {
    if (this.#isBusy || this.socket.destroyed) return
    const bytes = Buffer.concat(this.#early)
    this.#early = []
    this.#earlyBytes = 0
    this.socket.resume()
    if (bytes.length > 0) this.#onData(bytes)
  }

  /** The answer is over, or the connection is. */
  #closed(): void {
    const closed = this.#onClosed
    this.#onClosed = undefined
    closed?.()
  }
}

function ignore(): void {}
