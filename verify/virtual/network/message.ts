/** A request as a listener in the simulated network gets it, and what it answers; the shape the HTTP pipeline takes. */

export interface VirtualRequest {
  readonly method: string
  /** Path and query, as on the request line. */
  readonly target: string
  /** `name, value, name, value …`, `host` among them. */
  readonly headers: readonly string[]
  readonly body: AsyncIterable<Uint8Array> | undefined
  /** The address of the machine it came from. */
  readonly peerAddress: string
  /** Fires when the client goes away. */
  readonly signal: AbortSignal
}

export interface VirtualResponse {
  readonly status: number
  /** `name, value, name, value …` */
  readonly headers: readonly string[]
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>
}

export type VirtualListener = (request: VirtualRequest) => Promise<VirtualResponse>

export async function gather(
  body: Uint8Array | AsyncIterable<Uint8Array> | undefined,
): Promise<Uint8Array | undefined> {
  if (body === undefined || body instanceof Uint8Array) return body
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts)
}

export async function* partsOf(
  body: string | Uint8Array | AsyncIterable<Uint8Array> | undefined,
): AsyncGenerator<Uint8Array> {
  if (body === undefined) return
  if (typeof body === 'string') yield Buffer.from(body)
  else if (body instanceof Uint8Array) yield body
  else yield* body
}

/** Names in lower case, repeated ones joined, `set-cookie` dropped: what a client of ours sees. */
export function joinHeaders(raw: readonly string[]): Record<string, string> {
  const joined: Record<string, string> = {}
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    const value = raw[at + 1] ?? ''
    if (name === 'set-cookie') continue
    joined[name] = joined[name] === undefined ? value : `${joined[name]}, ${value}`
  }
  return joined
}
