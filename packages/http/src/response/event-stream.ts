/**
 * Server-sent events, and `GET /events`: frames from a source, and a comment now and then so that both ends know that
 * the other is there.
 *
 *     source ──frame──┐
 *                     ├─▶ body ──▶ the one writer of the socket
 *     heartbeat ──────┘
 */
import { CairnError, type Clock, type EventBus, type Timer, toCairnError } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import { z } from 'zod'
import { type RequestContext, type Route, route } from '../pipeline/route.ts'

/*
 * `GET /events`: what happens in a service, as it happens.
 *
 *     ring of the bus    │ 41 │ 42 │ 43 │ 44 │ ·            an event's id: the life of the service, its place
 *                              ▲
 *                 since=k3x9-42 goes on with 43             since=k3x9-7, or of another life: `gap`, then 41 …
 *
 * Events are hints: a client that receives `gap`, after an absence or because it reads too slowly, asks for the facts
 * again.
 */

const ID = /^([0-9a-z]{1,7})-(\d{1,15})$/

/** A place in the stream of one life of the service: after its `place`th event. */
interface Since {
  readonly life: string
  readonly place: number
}

/** The row every service has in its table. */
export function eventsRoute(clock: Clock, bus: EventBus): Route {
  return route({
    method: 'GET',
    path: '/events',
    lane: 'inline',
    scope: 'events:read',
    summary:
      'What happens, as server-sent events, from now on or after the event `since` (or `Last-Event-ID`) names; `gap` says that some are lost.',
    query: z.strictObject({ since: z.string().meta({ pattern: ID.source }).optional() }),
    responses: { 200: { description: 'Events until the client leaves.', mediaType: 'text/event-stream' } },
    limits: { stream: true },
    handler: (context) => {
      // A browser that comes back repeats the address it was given first; the header knows better.
      const opening = openingOf(bus, sinceOf(context.headers.get('last-event-id') ?? context.query.since))
      const subscription = bus.subscribe(opening.place)
      let first: Uint8Array | undefined = opening.frame
      return eventStream(clock, context, {
        next: async (signal) => {
          if (first !== undefined) {
            const frame = first
            first = undefined
            return frame
          }
          const heard = await subscription.recv({ signal })
          if (heard.tag === 'closed') return undefined
          const id = idOf(bus, subscription.place)
          if (heard.tag === 'lagged') return gapFrame(id, heard.missed)
          return eventFrame({ id, event: heard.value.topic, data: JSON.stringify(heard.value.body) })
        },
        close: () => subscription[Symbol.dispose](),
      })
    },
  })
}

/** Where the stream begins, and its first frame: it tells a client its place even if nothing ever happens. */
function openingOf(bus: EventBus, since: Since | undefined): { readonly place: number; readonly frame: Uint8Array } {
  const { oldest, newest } = bus.kept()
  const isKnown = since === undefined || (since.life === bus.life && since.place <= newest)
  const place = isKnown ? Math.max(oldest, since?.place ?? newest) : oldest
  const id = idOf(bus, place)
  if (!isKnown) return { place, frame: gapFrame(id, null) }
  const missed = place - (since?.place ?? place)
  return { place, frame: missed === 0 ? eventFrame({ id }) : gapFrame(id, missed) }
}

/** `missed` is null where the number is unknown: the service was restarted. */
function gapFrame(id: string, missed: number | null): Uint8Array {
  return eventFrame({ id, event: 'gap', data: JSON.stringify({ missed }) })
}

function idOf({ life }: EventBus, place: number): string {
  return `${life}-${place}`
}

function sinceOf(text: string | undefined): Since | undefined {
  if (text === undefined) return undefined
  const [, life, place] = ID.exec(text) ?? []
  if (life === undefined)
    throw new CairnError('Malformed', 'since and Last-Event-ID take the id of an event of this stream.')
  return { life, place: Number(place) }
}

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

type EventStep = IteratorResult<Uint8Array, undefined>

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

  async next(): Promise<EventStep> {
    if (this.#isOver || this.#stop.signal.aborted) return this.#end()
    this.#pending ??= this.#source.next(this.#stop.signal)
    const step = await this.#frameOrHeartbeat(this.#pending)
    return step ?? this.#end()
  }

  async return(): Promise<EventStep> {
    return await Promise.resolve(this.#end())
  }

  async #frameOrHeartbeat(pending: Promise<Uint8Array | undefined>): Promise<EventStep | undefined> {
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

  #end(): EventStep {
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
