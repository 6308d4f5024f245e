/** A client that sends exactly the given bytes, one at a time if need be. */
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export class RawClient {
  readonly socket: Socket
  /** Resolves when the connection is gone, by whatever way. */
  readonly closed: Promise<void>
  #received = Buffer.alloc(0)
  #isClosed = false
  #onBytes: (() => void) | undefined

  private constructor(socket: Socket) {
    this.socket = socket
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isClosed = true
        this.#onBytes?.()
        resolve()
      })
    })
    // A reset is an answer too; what the server said before it is what counts.
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes])
      this.#onBytes?.()
    })
  }

  /** Resolves once connected, or refused. */
  static async open(options: NetConnectOpts & { readonly ca?: string }): Promise<RawClient> {
    const socket =
      options.ca === undefined ? connect(options) : connectTls({ ...options, ca: options.ca, servername: 'localhost' })
    const client = new RawClient(socket)
    await new Promise<void>((resolve) => {
      socket.once(options.ca === undefined ? 'connect' : 'secureConnect', resolve)
      socket.once('close', () => resolve())
    })
    return client
  }

  get received(): string {
    return this.#received.toString('latin1')
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** From now on reads and forgets, as fast as it can. */
  forget(): void {
    this.socket.removeAllListeners('data')
    this.socket.resume()
  }

  send(text: string | Uint8Array): void {
    this.socket.write(text)
  }

  /** The next whole response; what is there when the connection closes, otherwise. Nothing if not even a head came. */
  async response(isHead = false): Promise<RawResponse | undefined> {
    for (;;) {
      const parsed = parse(this.#received, this.#isClosed, isHead)
      if (parsed !== undefined) {
        this.#received = this.#received.subarray(parsed.length)
        return parsed.response
      }
      if (this.#isClosed) return undefined
      await this.#moreBytes()
    }
  }

  /** Resolves once the text has been received, or the connection is gone. */
  async until(text: string): Promise<void> {
    while (!this.#isClosed && !this.#received.includes(text)) await this.#moreBytes()
  }

  end(): void {
    this.socket.destroy()
  }

  async #moreBytes(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onBytes = resolve
    })
  }
}

function parse(
  bytes: Buffer,
  isClosed: boolean,
  isHead: boolean,
): { readonly response: RawResponse; readonly length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [statusLine = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) headers[line.slice(0, line.indexOf(':')).toLowerCase()] = line.slice(line.indexOf(':') + 2)
  const status = Number(statusLine.split(' ')[1])
  const from = headEnd + 4
  const done = (body: string, length: number) => ({ response: { status, headers, body }, length })
  if (isHead || status === 100 || status === 204 || status === 304) return done('', from)
  if (headers['transfer-encoding'] === 'chunked') return parseChunked(bytes, from, isClosed, done)
  const length = Number(headers['content-length'] ?? Number.NaN)
  if (bytes.length >= from + length) return done(bytes.subarray(from, from + length).toString(), from + length)
  return isClosed ? done(bytes.subarray(from).toString(), bytes.length) : undefined
}

function parseChunked<T>(
  bytes: Buffer,
  from: number,
  isClosed: boolean,
  done: (body: string, length: number) => T,
): T | undefined {
  let body = ''
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) return isClosed ? done(body, bytes.length) : undefined
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString(), 16)
    if (bytes.length < lineEnd + 4 + size) return isClosed ? done(body, bytes.length) : undefined
    body += bytes.subarray(lineEnd + 2, lineEnd + 2 + size).toString()
    at = lineEnd + 4 + size
    if (size === 0) return done(body, at)
  }
}
