/** Writes answers: their heads as text, to a response of `node:http` or to a connection of our own. */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import { CairnError, type Clock } from '@cairn/kernel'

/*
 * The head of an answer as text.
 *
 *     status line │ the answer's own fields │ fields of this request │ Date, Connection
 *                   └ spelled out once for a frozen list                └ spelled out once a second
 *
 * An answer that has a Date keeps it, and gets no other: a cache hands on when a response was made (RFC 9110 §6.6.1).
 */

interface HeaderText {
  readonly text: string
  readonly isDated: boolean
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/

export class ResponseHeads {
  readonly #clock: Clock
  readonly #keepAliveMs: () => number
  readonly #texts = new WeakMap<readonly string[], HeaderText>()
  readonly #statusLines = new Map<number, string>()
  #second = Number.NaN
  #date = ''
  #keepAlive = ''

  /** `keepAliveMs` is how long a connection may be idle, as clients are told. */
  constructor(clock: Clock, keepAliveMs: () => number) {
    this.#clock = clock
    this.#keepAliveMs = keepAliveMs
  }

  /** Throws for a field that could end early and begin another; what is added is our own, and known to be plain. */
  text(status: number, headers: readonly string[], added: readonly string[], closes: boolean): string {
    const second = Math.floor(this.#clock.wall() / 1000)
    if (second !== this.#second) this.#tick(second)
    const { text, isDated } = this.#fields(headers)
    const start = this.#statusLine(status) + text + plainText(added) + (isDated ? '' : this.#date)
    return start + (closes ? 'Connection: close\r\n\r\n' : this.#keepAlive)
  }

  #tick(second: number): void {
    this.#second = second
    this.#date = `Date: ${new Date(second * 1000).toUTCString()}\r\n`
    const seconds = Math.floor(this.#keepAliveMs() / 1000)
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`
  }

  #statusLine(status: number): string {
    let line = this.#statusLines.get(status)
    if (line === undefined) {
      line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
      this.#statusLines.set(status, line)
    }
    return line
  }

  #fields(headers: readonly string[]): HeaderText {
    if (!Object.isFrozen(headers)) return fieldsOf(headers)
    let fields = this.#texts.get(headers)
    if (fields === undefined) {
      fields = fieldsOf(headers)
      this.#texts.set(headers, fields)
    }
    return fields
  }
}

/** All of an answer before the final one. Throws for a field that could end early and begin another. */
export function interimText(status: number, headers: readonly string[]): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${fieldsOf(headers).text}\r\n`
}

function plainText(headers: readonly string[]): string {
  let text = ''
  for (let at = 0; at + 1 < headers.length; at += 2) text += `${headers[at] ?? ''}: ${headers[at + 1] ?? ''}\r\n`
  return text
}

function fieldsOf(headers: readonly string[]): HeaderText {
  let text = ''
  let isDated = false
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? ''
    const value = headers[at + 1] ?? ''
    if (!NAME.test(name) || FORBIDDEN.test(value))
      throw new CairnError('Internal', `The header ${JSON.stringify(name)} cannot be sent as it is.`)
    text += `${name}: ${value}\r\n`
    isDated ||= name.length === 4 && name.toLowerCase() === 'date'
  }
  return { text, isDated }
}

/** Notified by the sink once the answer is written. */
export interface Sender {
  sent(isAll: boolean): void
}

export interface ResponseSink {
  /** It is this answer's turn: what keeps it waiting is its own client. */
  readonly isOnTurn: boolean
  /** All of the answer is with the system. */
  readonly isFinished: boolean
  /** An answer before the final one, whose head must not have been written. */
  inform(status: number, headers: readonly string[]): void
  /** The head; throws if it cannot be sent. It leaves with the first bytes of the body. */
  writeHead(status: number, headers: readonly string[], added: readonly string[]): void
  /** The head at once, for a client that should not wait for the body to see it. */
  flushHead(): void
  /** `done` says whether the bytes are with the system; they must not change before. */
  write(bytes: string | Uint8Array, done?: (error?: Error | null) => void): void
  /** The rest, or all of it; the sender hears, now or soon, whether it is with the system, or waits for the client. */
  end(body: string | Uint8Array | undefined, sender: Sender): void
  destroy(): void
  /** Called once, when the answer is over, however it ended. */
  onClose(closed: () => void): void
}

/** The longest body that is cheaper to copy than to hand over beside its head. */
export const TEXT_BYTES = 8 * 1024

/** Bytes as the text whose characters they are. */
export function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1')
}

export class NodeResponse implements ResponseSink {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  get isOnTurn(): boolean {
    return this.#response.socket !== null
  }

  get isFinished(): boolean {
    return this.#response.writableFinished
  }

  inform(status: number, headers: readonly string[]): void {
    // Before its turn on the connection there is no socket: what it would say is no longer news by then.
    this.#response.socket?.write(interimText(status, headers), 'latin1')
  }

  writeHead(status: number, headers: readonly string[], added: readonly string[]): void {
    this.#response.writeHead(status, [...headers, ...added])
  }

  flushHead(): void {
    this.#response.flushHeaders()
  }

  write(bytes: string | Uint8Array, done?: (error?: Error | null) => void): void {
    this.#response.write(bytes, done)
  }

  end(body: string | Uint8Array | undefined, sender: Sender): void {
    // As one text with the head, a short body costs one plain write instead of a gathered one.
    if (body instanceof Uint8Array && body.length <= TEXT_BYTES) this.#response.end(textOf(body), 'latin1')
    else this.#response.end(body)
    sender.sent(this.#response.socket?.writableLength === 0)
  }

  destroy(): void {
    this.#response.destroy()
  }

  onClose(closed: () => void): void {
    this.#response.on('close', closed)
  }
}
