/**
 * The head of an answer as text.
 *
 *     status line │ the answer's own fields │ fields of this request │ Date, Connection
 *                   └ spelled out once for a frozen list                └ spelled out once a second
 */
import { STATUS_CODES } from 'node:http'
import { CairnError, type Clock } from '@cairn/kernel'

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/

export class ResponseHeads {
  readonly #clock: Clock
  readonly #keepAliveMs: () => number
  readonly #texts = new WeakMap<readonly string[], string>()
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
    const start = this.#statusLine(status) + this.#fields(headers) + plainText(added)
    return start + (closes ? `${this.#date}Connection: close\r\n\r\n` : this.#keepAlive)
  }

  #tick(second: number): void {
    this.#second = second
    this.#date = `Date: ${new Date(second * 1000).toUTCString()}\r\n`
    const seconds = Math.floor(this.#keepAliveMs() / 1000)
    this.#keepAlive = `${this.#date}Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`
  }

  #statusLine(status: number): string {
    let line = this.#statusLines.get(status)
    if (line === undefined) {
      line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
      this.#statusLines.set(status, line)
    }
    return line
  }

  #fields(headers: readonly string[]): string {
    if (!Object.isFrozen(headers)) return fieldsText(headers)
    let text = this.#texts.get(headers)
    if (text === undefined) {
      text = fieldsText(headers)
      this.#texts.set(headers, text)
    }
    return text
  }
}

function plainText(headers: readonly string[]): string {
  let text = ''
  for (let at = 0; at + 1 < headers.length; at += 2) text += `${headers[at] ?? ''}: ${headers[at + 1] ?? ''}\r\n`
  return text
}

function fieldsText(headers: readonly string[]): string {
  let text = ''
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? ''
    const value = headers[at + 1] ?? ''
    if (!NAME.test(name) || FORBIDDEN.test(value))
      throw new CairnError('Internal', `The header ${JSON.stringify(name)} cannot be sent as it is.`)
    text += `${name}: ${value}\r\n`
  }
  return text
}
