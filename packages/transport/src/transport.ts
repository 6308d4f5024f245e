/** Requests going out, and the URLs they go to. Runs in a browser. */
import { CairnError, canceled, type Deadline, throwIfCanceled } from '@cairn/kernel'

/**
 * Waits for work that cannot be interrupted, but no longer than the signal allows. What it yields after that goes
 * to `late`, to be released. The listener is gone once this settles.
 */
export async function abortable<T>(signal: AbortSignal, work: Promise<T>, late?: (value: T) => void): Promise<T> {
  if (signal.aborted) {
    work.then(late, ignore)
    throwIfCanceled(signal)
  }
  return await new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(canceled(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(
      (value) => {
        signal.removeEventListener('abort', onAbort)
        if (signal.aborted) late?.(value)
        else resolve(value)
      },
      (error: unknown) => {
        signal.removeEventListener('abort', onAbort)
        reject(error instanceof Error ? error : new Error(String(error)))
      },
    )
  })
}

function ignore(): void {}

export interface OutgoingRequest {
  readonly method: string
  /** `https:`, `http:`, or a Unix socket made by `unixUrl`. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | AsyncIterable<Uint8Array> | undefined
  /** Covers connect, headers and body. */
  readonly deadline: Deadline
  readonly signal?: AbortSignal | undefined
  /** Hears of answers before the final one (1xx), those of the connection itself (100, 101) aside. */
  readonly onInterim?: InterimListener | undefined
}

/** Lower-case names, as in `IncomingResponse`. */
export type InterimListener = (status: number, headers: Readonly<Record<string, string>>) => void

export interface IncomingResponse {
  readonly status: number
  /** Lower-case names; repeated fields joined as HTTP allows, `set-cookie` excepted (dropped). */
  readonly headers: Readonly<Record<string, string>>
  /** Must be read to its end or canceled, else the connection is not reused. */
  readonly body: IncomingBody
}

export interface IncomingBody extends AsyncIterable<Uint8Array> {
  /** Gives up the rest. Does nothing after the end. */
  cancel(): void
}

export interface Transport {
  /**
   * Sends to a target we were configured with and resolves once the headers are here. Never hangs: the deadline is
   * a `Timeout`, the signal `Canceled`; a target that cannot be reached or breaks off is a `Timeout` with the code
   * `unreachable` or `connection_lost`, so that what is idempotent is tried again.
   */
  request(request: OutgoingRequest): Promise<IncomingResponse>
  close(): Promise<void>
}

/** A target behind a Unix socket, as a URL: the socket's path is its host. */
export function unixUrl(socketPath: string, path = '/'): URL {
  return new URL(`http+unix://${encodeURIComponent(socketPath)}${path}`)
}

/** The socket a URL made by `unixUrl` names. */
export function unixSocketPath(url: URL): string | undefined {
  return url.protocol === 'http+unix:' ? decodeURIComponent(url.hostname) : undefined
}

/**
 * The URL of `path` below `base`, joined as text and then checked: whatever the path holds, the result has the
 * origin of the base and stays below its path. Throws `Malformed` otherwise.
 */
export function joinUrl(base: URL, path: string): URL {
  // Not `origin`, which is the same for all Unix sockets.
  const origin = `${base.protocol}//${base.host}`
  const root = `${origin}${base.pathname.replace(/\/*$/, '/')}`
  const joined = URL.parse(root + path)
  const isBelow = joined?.host === base.host && joined.href.startsWith(root)
  if (!isBelow || joined.username !== '' || joined.hash !== '') {
    throw new CairnError('Malformed', `${JSON.stringify(path)} does not stay below ${root}.`)
  }
  return joined
}
