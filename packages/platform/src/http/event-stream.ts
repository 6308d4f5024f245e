/**
 * Server-sent events: frames from a source, and a comment now and then so that both ends know the other is there.
 *
 *     source ──frame──┐
 *                     ├─▶ body ──▶ the one writer of the socket
 *     heartbeat ──────┘
 */
import { type Clock, type Timer, toCairnError } from '@cairn/kernel'
import type { IngressResponse } from './message.ts'
import type { RequestContext } from './route.ts'

export interface ServerEvent {
  /** What the client sends back as `Last-Event-ID`. */
  readonly id?: string
  readonly event?: string
  /** Without it the client hears nothing, and remembers the id. */
  readonly data?: string
}

const encoder = new TextEncoder()

/** An event as bytes. Made once, it can go to any number of clients. */
export function eventFrame({ id, event, data }: ServerEvent): Uint8Array {
  const lines = data?.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`) ?? []
  const head = `${id === undefined ? '' : `id: ${oneLine(id)}\n`}${event === undefined ? '' : `event: ${oneLine(event)}\n`}`
  return encoder.encode(`${head}${lines.join('')}\n`)
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\0]/g, '')
}

const HEARTBEAT = encoder.encode(': heartbeat\n\n')

/** Well under the time after which common proxies give up on a silent response. */
const HEARTBEAT_MS = 15_000

export interface EventSource {
  /** The next frame; nothing at the end. The signal ends the wait: the client left, or the service drains. */
  next(signal: AbortSignal): Promise<Uint8Array | undefined>
  /** Called once, however the stream ended. */
  close?(): void
}

/** The answer that sends the source's frames until it ends, the client leaves, or the service drains. */
export function eventStream(
  clock: Clock,
  context: RequestContext<unknown, unknown, unknown>,
  source: EventSource,
  heartbeatMs = HEARTBEAT_MS,
): IngressResponse {
  return {
    status: 200,
    headers: ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-store', 'X-Accel-Buffering', 'no'],
    body: new EventBody(clock, context, source, heartbeatMs),
  }
}

type Step = IteratorResult<Uint8Array, undefined>

class EventBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #clock: Clock
  readonly #source: EventSource
  readonly #heartbeatMs: number
  readonly #stop = new AbortController()
  readonly #parents: readonly AbortSignal[]
  /** The frame being waited for; a heartbeat does not give up its place in the source's line. */
  #pending: Promise<Uint8Array | undefined> | undefined
  #isOver = false

  constructor(
    clock: Clock,
    { signal, draining }: RequestContext<unknown, unknown, unknown>,
    source: EventSource,
    heartbeatMs: number,
  ) {
    this.#clock = clock
    this.#source = source
    this.#heartbeatMs = heartbeatMs
    this.#parents = [signal, draining]
    for (const parent of this.#parents) {
      if (parent.aborted) this.#stop.abort(parent.reason)
      else parent.addEventListener('abort', this.#onParent, { once: true })
    }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<Step> {
    if (this.#isOver || this.#stop.signal.aborted) return this.#end()
    this.#pending ??= this.#source.next(this.#stop.signal)
    const step = await this.#frameOrHeartbeat(this.#pending)
    return step ?? this.#end()
  }

  async return(): Promise<Step> {
    return await Promise.resolve(this.#end())
  }

  async #frameOrHeartbeat(pending: Promise<Uint8Array | undefined>): Promise<Step | undefined> {
    return await new Promise((resolve, reject) => {
      let timer: Timer | undefined = this.#clock.timer(this.#heartbeatMs, () => {
        timer = undefined
        resolve({ done: false, value: HEARTBEAT })
      })
      const settle = (then: () => void): void => {
        // Once the heartbeat went first, the frame is for the next call, which waits for the same promise.
        if (timer === undefined) return
        timer.cancel()
        this.#pending = undefined
        then()
      }
      pending.then(
        (frame) => settle(() => resolve(frame === undefined ? undefined : { done: false, value: frame })),
        (error: unknown) =>
          settle(() => (this.#stop.signal.aborted ? resolve(undefined) : reject(toCairnError(error)))),
      )
    })
  }

  #end(): Step {
    if (!this.#isOver) {
      this.#isOver = true
      for (const parent of this.#parents) parent.removeEventListener('abort', this.#onParent)
      this.#stop.abort()
      this.#source.close?.()
    }
    return { done: true, value: undefined }
  }

  readonly #onParent = (event: Event): void => {
    this.#stop.abort(event.target instanceof AbortSignal ? event.target.reason : undefined)
  }
}
