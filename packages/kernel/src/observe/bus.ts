import type { Broadcast, Subscription } from '../channel/broadcast.ts'
import type { Runtime } from '../runtime.ts'
import { openBroadcast, type Topology } from './topology.ts'

/** What every service says about itself. */
export interface KernelEvents {
  /** It became ready, or is so no longer. */
  'kernel.health': { readonly service: string; readonly ok: boolean; readonly missing: readonly string[] }
  'kernel.config.updated': { readonly service: string; readonly version: number }
  /** A task ended with an uncaught error. */
  'kernel.crash': { readonly service: string; readonly task: string }
  'kernel.shutdown': { readonly service: string }
}

export type BusEvent<Topics> = {
  readonly [Topic in keyof Topics & string]: { readonly topic: Topic; readonly body: Topics[Topic] }
}[keyof Topics & string]

type AnyBusEvent<Topics> = BusEvent<Topics> | BusEvent<KernelEvents>

/** The part of a stream of events that is still kept: those after the `oldest`th, up to the `newest`th. */
export interface KeptRange {
  readonly oldest: number
  readonly newest: number
}

/** A bus to those who do not know its topics. */
export interface EventBus {
  readonly service: string
  readonly life: string
  kept(): KeptRange
  publish(event: BusEvent<KernelEvents>): void
  subscribe(from?: number): Subscription<{ readonly topic: string; readonly body: unknown }>
}

/** Typed topics over the declared broadcast `events`. Events are hints: a consumer that must know a fact asks for it as well. */
export class Bus<Topics> implements EventBus {
  readonly service: string
  /** New at every start, so that a place in the stream of another life is not taken for one in this. */
  readonly life: string
  readonly #events: Broadcast<AnyBusEvent<Topics>>

  constructor(runtime: Runtime, topology: Topology) {
    this.service = topology.service
    this.life = Math.floor(runtime.random.next() * 2 ** 32).toString(36)
    this.#events = openBroadcast(runtime, topology, 'events')
  }

  /** Never waits and never fails; after the bus is closed no subscriber receives the event. */
  publish(event: AnyBusEvent<Topics>): void {
    this.#events.publish(event)
  }

  /** Hears what comes after the `from`th event, as far as it is kept; from now on without it. */
  subscribe(from?: number): Subscription<AnyBusEvent<Topics>> {
    return this.#events.subscribe(from)
  }

  kept(): KeptRange {
    const { published, capacity } = this.#events.facts()
    return { oldest: Math.max(0, published - capacity), newest: published }
  }

  close(): void {
    this.#events.close()
  }
}
