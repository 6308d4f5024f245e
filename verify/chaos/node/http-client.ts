/** Requests to a node that may be killed at any moment. */
import { Agent, type IncomingMessage, request as send } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface Answer {
  readonly status: number
  /** The code of a problem; empty if it is none. */
  readonly code: string
  readonly body: Buffer
  json(): Record<string, unknown>
}

export interface Asked {
  readonly body?: Uint8Array
  readonly json?: unknown
  /** Sent piece by piece, without saying its length. */
  readonly isStreamed?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** The node is gone, or went while it answered; whether it did what was asked is not known. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

/** Of a streamed body. */
const PIECE_BYTES = 50_000

export class HttpClient {
  readonly #url: string
  readonly #token: string
  readonly #agent = new Agent({ keepAlive: true })

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  async ask(method: string, path: string, asked: Asked = {}): Promise<Answer> {
    const response = await this.#send(method, path, asked)
    const { statusCode: status = 0, headers } = response
    const isProblem = headers['content-type'] === 'application/problem+json'
    const bytes = await lostIfBroken(buffer(response), isProblem || method === 'GET')
    const json = (): Record<string, unknown> => JSON.parse(bytes.toString()) as Record<string, unknown>
    return { status, code: isProblem ? String(json()['code']) : '', body: bytes, json }
  }

  close(): void {
    this.#agent.destroy()
  }

  async #send(
    method: string,
    path: string,
    { body, json, isStreamed = false, headers: more }: Asked,
  ): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const bytes = json === undefined ? body : Buffer.from(JSON.stringify(json))
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}`, ...more }
    if (json !== undefined) headers['content-type'] = 'application/json'
    if (bytes !== undefined && !isStreamed) headers['content-length'] = String(bytes.length)
    const request = send(new URL(path, this.#url), { method, headers, agent: this.#agent })
    request.on('response', resolve)
    request.on('error', (cause) => reject(new ConnectionLost(`${method} ${path}: ${cause.message}`, { cause })))
    if (bytes !== undefined && isStreamed) for (const piece of piecesOf(bytes)) request.write(piece)
    request.end(isStreamed ? undefined : bytes)
    return await promise
  }
}

/** An acknowledgement counts from its status line on; only what is read for its body needs all of it. */
async function lostIfBroken(reading: Promise<Buffer>, isNeeded: boolean): Promise<Buffer> {
  try {
    return await reading
  } catch (cause) {
    if (isNeeded) throw new ConnectionLost('The answer ends before its end.', { cause })
    return Buffer.alloc(0)
  }
}

function* piecesOf(bytes: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}
