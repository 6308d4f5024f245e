import { RepeatedWarning } from '../observe/log.ts'
import type { Runtime } from '../runtime.ts'
import * as core from './broadcast-core.ts'
import { throwIfCanceled, type WaitOptions, waitIn } from './waiters.ts'

export interface BroadcastOptions {
  readonly name: string
  readonly capacity: number
}

/** One to many over a ring: a slow subscriber loses the oldest values, learns how many, and delays no sender. */
export class Broadcast<T> {
  readonly name: string
  readonly #core: core.BroadcastCore<T>
  readonly #runtime: Runtime
  readonly #warning: RepeatedWarning
  readonly #unlist: () => void
  #lost = 0

  constructor(runtime: Runtime, { name, capacity }: BroadcastOptions) {
    this.name = name
    this.#core = core.createBroadcast(capacity)
    this.#runtime = runtime
    this.#warning = new RepeatedWarning(runtime.clock, runtime.log, 'broadcast subscriber lagged')
    this.#unlist = runtime.topology.add({ kind: 'broadcast', name, facts: () => this.facts() })
  }

  /** Never waits. False once closed. */
  publish(value: T): boolean {
    return core.publish(this.#core, value)
  }

  /**
   * Hears everything published from now on, until closed; or, of what is kept, everything from that place on. What is
   * lost is counted against `consumer`, the task that reads: a listener's streams unless said otherwise.
   */
  subscribe(from?: number, consumer = 'listener'): Subscription<T> {
    return new Subscription(this.#core, from, (missed) => {
      this.#runtime.metrics.count('bus_lagged_total', { topic: this.name, consumer }, missed)
      this.#lost += missed
      this.#warning.happened({ topic: this.name, consumer }, missed)
    })
  }

  close(): void {
    core.closeBroadcast(this.#core)
    this.#unlist()
  }

  /** `lost` is what slow subscribers missed, all of them together. */
  facts(): { capacity: number; published: number; subscribers: number; lost: number } {
    const { capacity, published, readers: subscribers } = this.#core
    return { capacity, published, subscribers, lost: this.#lost }
  }
}

export class Subscription<T> implements AsyncIterable<core.HearResult<T>>, Disposable {
  readonly #core: core.BroadcastCore<T>
  readonly #reader: core.BroadcastReader
  readonly #onLag: (missed: number) => void
  #closed = false

  constructor(broadcast: core.BroadcastCore<T>, from: number | undefined, onLag: (missed: number) => void) {
    this.#core = broadcast
    this.#reader = core.subscribe(broadcast, from)
    this.#onLag = onLag
  }

  /** How many values had been published with the last one that this subscriber heard, or was told it lost. */
  get place(): number {
    return this.#reader.place
  }

  /** The next value, a count of values lost, or `closed`. */
  async recv(options: WaitOptions = {}): Promise<core.HearResult<T>> {
    throwIfCanceled(options.signal)
    let heard = this.tryReceive()
    while (heard === undefined) {
      await waitIn(this.#core.waiters, options)
      heard = this.tryReceive()
    }
    return heard
  }

  tryReceive(): core.HearResult<T> | undefined {
    const heard = core.tryHear(this.#core, this.#reader)
    if (heard?.tag === 'lagged') this.#onLag(heard.missed)
    return heard
  }

  async *[Symbol.asyncIterator](): AsyncIterator<core.HearResult<T>> {
    for (let heard = await this.recv(); heard.tag !== 'closed'; heard = await this.recv()) yield heard
  }

  [Symbol.dispose](): void {
    if (this.#closed) return
    this.#closed = true
    this.#core.readers -= 1
  }
}
