/**
 * Request heads that leave nothing to interpret: one GET or HEAD without a body, all of it here, in plain spelling.
 *
 *     GET /o/b3:… HTTP/1.1 ⏎     method, a target of printable ASCII, this version
 *     Host: 127.0.0.1 ⏎          token, colon, printable ASCII; nothing about bodies, upgrades or closing
 *     ⏎                          and not a byte more
 *
 * Whatever is not plain is no mistake: it is read by the full parser of `node:http`, which decides what it means.
 */
import { RequestHeaders } from '../request/request-headers.ts'

/** Longer heads are rare, and not worth looking at twice. */
const HEAD_BYTES_MAX = 8 * 1024

const TARGET = /^\/[\x21-\x7e]*$/
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VALUE = /^[\t\x20-\x7e]*$/
const VERSION = ' HTTP/1.1'
const END = '\r\n\r\n'

/** Fields that change how the message or the connection is read. */
const FRAMING: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'proxy-connection',
  'upgrade',
  'expect',
  'trailer',
  'http2-settings',
])

export interface PlainHead {
  readonly method: 'GET' | 'HEAD'
  readonly target: string
  readonly fields: RequestHeaders
}

/** Reads the heads of one connection. A client sends the same fields with every request: they are understood once. */
export class PlainHeads {
  #lastText = ''
  #lastFields = new RequestHeaders([])

  /** The head, if these bytes are one that is plain and nothing else. */
  read(bytes: Buffer): PlainHead | undefined {
    if (bytes.length > HEAD_BYTES_MAX) return undefined
    const text = bytes.toString('latin1')
    const method = text.startsWith('GET ') ? 'GET' : text.startsWith('HEAD ') ? 'HEAD' : undefined
    if (method === undefined || text.indexOf(END) !== text.length - END.length) return undefined
    const lineEnd = text.indexOf('\r\n')
    const targetEnd = lineEnd - VERSION.length
    if (!text.startsWith(VERSION, targetEnd)) return undefined
    const target = text.slice(method.length + 1, targetEnd)
    const fields = TARGET.test(target) ? this.#fields(text.slice(lineEnd + 2, -2)) : undefined
    return fields === undefined ? undefined : { method, target, fields }
  }

  #fields(text: string): RequestHeaders | undefined {
    if (text === this.#lastText) return this.#lastFields
    const raw = plainFields(text)
    if (raw === undefined) return undefined
    this.#lastText = text
    this.#lastFields = new RequestHeaders(raw)
    return this.#lastFields
  }
}

function plainFields(text: string): string[] | undefined {
  const raw: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (colon === -1 || colon > end) return undefined
    const name = text.slice(at, colon)
    const value = text.slice(colon + 1, end)
    if (!NAME.test(name) || !VALUE.test(value)) return undefined
    const trimmed = value.trim()
    if (FRAMING.has(name.toLowerCase()) && !isKeepAlive(name, trimmed)) return undefined
    raw.push(name, trimmed)
    at = end + 2
  }
  return raw
}

/** What HTTP/1.1 implies anyway. */
function isKeepAlive(name: string, value: string): boolean {
  return name.toLowerCase() === 'connection' && value.toLowerCase() === 'keep-alive'
}
