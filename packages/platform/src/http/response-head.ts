/**
 * The head of an answer as text.
 *
 *     status line │ the answer's own fields │ fields of this request │ Date, Connection
 *                   └ spelled out once for a frozen list                └ spelled out once a second
 *
 * An answer that has a Date keeps it, and gets no other: a cache hands on when a response was made (RFC 9110 §6.6.1).
 */
import { STATUS_CODES } from 'node:http'
import { CairnError, type Clock } from '@cairn/kernel'

interface Fields {
  readonly text: string
  readonly isDated: boolean
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/

export class ResponseHeads {
  readonly #clock: Clock
  readonly #keepAliveMs: () => number
  readonly #texts = new WeakMap<readonly string[], Fields>()
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

  #fields(headers: readonly string[]): Fields {
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

function fieldsOf(headers: readonly string[]): Fields {
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
