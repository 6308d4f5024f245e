import type { Broadcast, Subscription } from '../channel/broadcast.ts'

export type BusEvent<Topics> = {
  readonly [Topic in keyof Topics & string]: { readonly topic: Topic; readonly body: Topics[Topic] }
}[keyof Topics & string]

/** Typed topics over one broadcast. Events are hints: whoever must know a fact asks for it as well. */
export class Bus<Topics> {
  readonly #events: Broadcast<BusEvent<Topics>>

  constructor(events: Broadcast<BusEvent<Topics>>) {
    this.#events = events
  }

  /** Never waits and never fails; after the bus is closed nobody hears it. */
  publish(event: BusEvent<Topics>): void {
    this.#events.publish(event)
  }

  subscribe(): Subscription<BusEvent<Topics>> {
    return this.#events.subscribe()
  }
}
