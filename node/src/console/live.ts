/**
 * What an open console is told, in one stream: the node now, whenever that changes, and the events of all services.
 *
 *     every second ─┬─ events of each bus since the last time ──▶ `event` frames
 *                   └─ every second time the node now, if it is not what was sent last ──▶ a `now` frame
 *
 * All consoles share one look at the node: ten of them cost what one does.
 */
import { eventFrame, eventStream, type RequestContext } from '@cairn/http'
import { type Clock, type EventBus, type LiveTopology, sleep } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import type { NodeStatus } from '../routes.ts'
import { NODE_TOPOLOGY } from '../topology.ts'
import type { TrafficReport } from './traffic.ts'

const TICK_MS = NODE_TOPOLOGY.timeouts.live.ms
const TICKS_PER_LOOK = 2
/** Looks of several consoles that are this close are one. */
const SHARED_MS = 1500

export interface QueueFacts {
  readonly service: string
  readonly name: string
  readonly waiting: number
  readonly room: number
}

export interface NodeNow {
  readonly status: Omit<NodeStatus, 'uptime_ms'>
  /** Unix milliseconds. */
  readonly started_at: number
  readonly queues: readonly QueueFacts[]
  readonly traffic: readonly TrafficReport[]
}

/** Every queue of a service that holds requests or work. */
export function queuesOf(service: string, topology: LiveTopology): QueueFacts[] {
  return topology.snapshot().flatMap(({ kind, name, facts: { depth, capacity } }) => {
    if (kind !== 'queue' || typeof depth !== 'number' || typeof capacity !== 'number') return []
    return [{ service, name, waiting: depth, room: capacity }]
  })
}

export interface LiveSource {
  readonly clock: Clock
  readonly now: () => Promise<NodeNow>
  /** Of every service of this process. */
  readonly buses: () => readonly EventBus[]
}

export class LiveFeed {
  readonly #source: LiveSource
  #text: Promise<string> | undefined
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(source: LiveSource) {
    this.#source = source
  }

  stream(context: RequestContext<unknown, unknown, unknown>): IngressResponse {
    const { clock, buses } = this.#source
    const subscriptions = buses().map((bus) => ({ bus, heard: bus.subscribe(bus.kept().oldest) }))
    const frames: Uint8Array[] = []
    let ticks = 0
    let sent = ''
    const hear = (isOld: boolean): void => {
      for (const { bus, heard } of subscriptions) {
        for (let next = heard.tryReceive(); next?.tag === 'value' || next?.tag === 'lagged'; next = heard.tryReceive())
          frames.push(next.tag === 'lagged' ? gapOf(bus) : eventOf(bus, next.value, isOld ? null : clock.wall()))
      }
    }
    const look = async (): Promise<void> => {
      const text = await this.#now()
      if (text === sent) return
      sent = text
      frames.push(eventFrame({ event: 'now', data: text }))
    }
    return eventStream(clock, context, {
      next: async (signal) => {
        for (;;) {
          const frame = frames.shift()
          if (frame !== undefined) return frame
          if (ticks > 0) await sleep(clock, TICK_MS, { signal })
          hear(ticks === 0)
          if (ticks % TICKS_PER_LOOK === 0) await look()
          ticks += 1
        }
      },
      close: () => {
        for (const { heard } of subscriptions) heard[Symbol.dispose]()
      },
    })
  }

  /** As JSON; a look that failed is not shared. */
  async #now(): Promise<string> {
    const { clock, now } = this.#source
    if (this.#text === undefined || clock.now() - this.#askedAt >= SHARED_MS) {
      this.#askedAt = clock.now()
      this.#text = now().then((facts) => JSON.stringify(facts))
    }
    return await this.#text
  }
}

function gapOf({ service }: EventBus): Uint8Array {
  return eventFrame({ event: 'gap', data: JSON.stringify({ service }) })
}

function eventOf(
  { service }: EventBus,
  { topic, body }: { readonly topic: string; readonly body: unknown },
  at: number | null,
): Uint8Array {
  return eventFrame({ event: 'event', data: JSON.stringify({ service, topic, body, at }) })
}
