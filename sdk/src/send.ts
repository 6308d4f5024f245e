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
