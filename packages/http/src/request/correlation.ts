import type { Runtime } from '@cairn/kernel'
import { createUlid, isCorrelationId } from '@cairn/wire'

/** Crockford's base 32, as in every ULID. */
const DIGITS: readonly string[] = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.split('')
/** Every pair of digits, in order. */
const PAIRS: readonly string[] = DIGITS.flatMap((high) => DIGITS.map((low) => high + low))

const TIME_DIGITS = 10
const TAIL_DIGITS = 2

/**
 * Ids for requests that come without one: ULIDs whose last two digits count up, as ULIDs of one millisecond may.
 * The rest of the random part is drawn anew after 1024 ids, and the time is spelled out once a millisecond.
 */
export class CorrelationIds {
  readonly #runtime: Runtime
  #time = ''
  #timeMs = -1
  #random = ''
  #tail = PAIRS.length

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** The caller's id if it may be used as it is, else a new one. */
  of(sent: string | undefined): string {
    return sent !== undefined && isCorrelationId(sent) ? sent : this.#next()
  }

  #next(): string {
    const timeMs = Math.floor(this.#runtime.clock.wall())
    if (timeMs !== this.#timeMs || this.#tail === PAIRS.length) this.#renew(timeMs)
    const tail = PAIRS[this.#tail] ?? ''
    this.#tail += 1
    return this.#time + this.#random + tail
  }

  #renew(timeMs: number): void {
    const isUsedUp = this.#tail === PAIRS.length
    const fresh = createUlid(timeMs, isUsedUp ? this.#runtime.random.bytes(10) : NO_RANDOM)
    this.#timeMs = timeMs
    this.#time = fresh.slice(0, TIME_DIGITS)
    if (!isUsedUp) return
    this.#random = fresh.slice(TIME_DIGITS, -TAIL_DIGITS)
    this.#tail = 0
  }
}

const NO_RANDOM = new Uint8Array(10)
