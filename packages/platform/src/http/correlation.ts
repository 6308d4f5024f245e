import type { Runtime } from '@cairn/kernel'
import { createUlid, isCorrelationId } from '@cairn/wire'

const ID_BYTES = 10
const BATCH = 64

/** Ids for requests that come without one. Randomness is drawn for many at a time: one draw costs as much as an id. */
export class CorrelationIds {
  readonly #runtime: Runtime
  #random = new Uint8Array()
  #at = 0

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** The caller's id if it may be used as it is, else a new one. */
  of(sent: string | undefined): string {
    return sent !== undefined && isCorrelationId(sent) ? sent : this.#next()
  }

  #next(): string {
    if (this.#at === this.#random.length) {
      this.#random = this.#runtime.random.bytes(ID_BYTES * BATCH)
      this.#at = 0
    }
    const bytes = this.#random.subarray(this.#at, this.#at + ID_BYTES)
    this.#at += ID_BYTES
    return createUlid(Math.floor(this.#runtime.clock.wall()), bytes)
  }
}
