/** Bodies of answers: read in pieces, bounded, and let go if they are not wanted to the end. */
import { CairnError, canceled } from '@cairn/kernel'

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface Request {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
  readonly signal: AbortSignal
}

/** One `fetch`, up to the headers of its answer; `Timeout` with the code `unreachable` where nobody answers. */
export async function send(fetch: Fetch, { method, url, headers, body, signal }: Request): Promise<Response> {
  try {
    return await fetch(url.href, {
      method,
      headers,
      // A redirect would carry the token to somebody else.
      redirect: 'error',
      // A cache of the browser would keep a wrong byte, and hand it out again at every further try.
      cache: 'no-store',
      signal,
      ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
    })
  } catch (cause) {
    if (signal.aborted) throw canceled(signal)
    // A `fetch` of the caller's may refuse to send at all, and says why.
    if (cause instanceof CairnError) throw cause
    throw new CairnError('Timeout', `No service answers at ${url.origin}.`, { code: 'unreachable', status: 502, cause })
  }
}

/** The pieces of a body as they come. A connection that breaks is a `Timeout` with the code `connection_lost`. */
export async function* piecesOf(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (response.body === null) return
  const reader = response.body.getReader()
  let isOver = false
  try {
    for (;;) {
      const next = await reader.read()
      isOver = next.done
      if (next.done) return
      yield next.value as Uint8Array
    }
  } catch (cause) {
    isOver = true
    if (signal.aborted) throw canceled(signal)
    if (cause instanceof CairnError) throw cause
    throw new CairnError('Timeout', 'The connection broke in the middle of an answer.', {
      code: 'connection_lost',
      status: 502,
      cause,
    })
  } finally {
    // Without this the rest of the body would hold the connection.
    if (!isOver) await reader.cancel().catch(() => undefined)
  }
}

/** All of a body; one of more than `bytesMax` is given up and refused. */
export async function bytesOf(response: Response, signal: AbortSignal, bytesMax: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of piecesOf(response, signal)) {
    length += piece.length
    if (length > bytesMax) throw badAnswer(`has more than ${bytesMax} bytes`)
    pieces.push(piece)
  }
  return joined(pieces, length)
}

export async function textOf(response: Response, signal: AbortSignal, bytesMax: number): Promise<string> {
  return new TextDecoder().decode(await bytesOf(response, signal, bytesMax))
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = pieces
  if (pieces.length === 1 && first !== undefined) return first
  const all = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}

/** The other side speaks, but not as agreed. */
export function badAnswer(why: string, cause?: unknown): CairnError {
  return new CairnError('Internal', `The answer of the service ${why}.`, { code: 'bad_answer', status: 502, cause })
}
