/**
 * How much is read and verified at once: so many webhooks of one address, so many of all, so many bytes of all.
 *
 *     longest here ▶ │ a │ b │ c │ ◀ last to come        past a bound of all, the one that has been here longest leaves:
 *                                                       whoever sends slowly keeps out nobody
 *
 * A flood of bad signatures from one place keeps out nobody but itself; only addresses with a request open have an entry.
 */
import type { CairnError } from '@cairn/kernel'
import { refusal } from '../errors.ts'

export interface GateLimits {
  readonly perAddress: number
  readonly seats: number
  /** Of all bodies together. */
  readonly bytes: number
}

/** A place to read and verify one webhook; given back when disposed. */
export interface Seat extends Disposable {
  /** Fires, with a refusal as its reason, when this one has to leave. */
  readonly left: AbortSignal
  /** More of the body is here. */
  grow(bytes: number): void
}

export class VerificationGate {
  readonly #limits: () => GateLimits
  readonly #open = new Map<string, number>()
  /** In the order in which they came. */
  readonly #reading = new Set<OpenSeat>()
  #bytes = 0

  constructor(limits: () => GateLimits) {
    this.#limits = limits
  }

  /** A seat for this address; `RATE_LIMIT` if it has as many as it may. */
  enter(address: string): Seat {
    const open = this.#open.get(address) ?? 0
    const { perAddress: max } = this.#limits()
    if (open >= max) {
      throw refusal('RATE_LIMIT', `${max} webhooks of this address are being verified; send fewer at once.`, 1000)
    }
    this.#open.set(address, open + 1)
    const seat = new OpenSeat(
      (bytes) => {
        this.#bytes += bytes
        this.#makeRoom()
      },
      () => this.#leave(seat, address),
    )
    this.#reading.add(seat)
    this.#makeRoom()
    return seat
  }

  get addresses(): number {
    return this.#open.size
  }

  get bytes(): number {
    return this.#bytes
  }

  #makeRoom(): void {
    const { seats, bytes } = this.#limits()
    while (this.#bytes > bytes || this.#reading.size > seats) {
      const [oldest] = this.#reading
      if (oldest === undefined) return
      this.#forget(oldest)
      oldest.mustLeave(refusal('BACKPRESSURE', 'Too much is being read at once; send it again, and faster.', 1000))
    }
  }

  #leave(seat: OpenSeat, address: string): void {
    this.#forget(seat)
    const left = (this.#open.get(address) ?? 1) - 1
    if (left === 0) this.#open.delete(address)
    else this.#open.set(address, left)
  }

  #forget(seat: OpenSeat): void {
    if (this.#reading.delete(seat)) this.#bytes -= seat.bytes
  }
}

class OpenSeat implements Seat {
  bytes = 0
  readonly #leaving = new AbortController()
  readonly #grew: (bytes: number) => void
  readonly #onDispose: () => void

  constructor(grew: (bytes: number) => void, onDispose: () => void) {
    this.#grew = grew
    this.#onDispose = onDispose
  }

  get left(): AbortSignal {
    return this.#leaving.signal
  }

  grow(bytes: number): void {
    this.bytes += bytes
    this.#grew(bytes)
  }

  mustLeave(why: CairnError): void {
    this.#leaving.abort(why)
  }

  [Symbol.dispose](): void {
    this.#onDispose()
  }
}
