/**
 * How much is read and verified at once: so many webhooks of one address, so many of all, so many bytes of all.
 *
 *     longest here ▶ │ a │ b │ c │ ◀ last to come        past a bound of all, the one that has been here longest leaves:
 *                                                       whoever sends slowly keeps out nobody
 *
 * A flood of bad signatures from one place keeps out nobody but itself; only addresses with a request open have an entry.
 */
import { type CairnError, type Runtime, TokenBucket } from '@cairn/kernel'
import { refusal } from '../errors.ts'

/*
 * The rate of webhooks that are genuine. It is judged once a signature is: what is not genuine takes nothing from what is,
 * however much of it comes.
 */

export interface RateLimits {
  /** 0 is no limit. */
  readonly max_rps: number
  readonly burst: number
}

export class WebhookRate {
  readonly #runtime: Runtime
  readonly #limits: () => RateLimits
  #current: RateLimits = { max_rps: 0, burst: 0 }
  #bucket: TokenBucket | undefined

  constructor(runtime: Runtime, limits: () => RateLimits) {
    this.#runtime = runtime
    this.#limits = limits
  }

  /** `RATE_LIMIT` if there were as many as there may be. */
  take(): void {
    const { max_rps: rate, burst } = this.#limits()
    if (rate !== this.#current.max_rps || burst !== this.#current.burst) {
      this.#current = { max_rps: rate, burst }
      this.#bucket = rate === 0 ? undefined : new TokenBucket(this.#runtime.clock, { rate, burst })
    }
    if (this.#bucket === undefined || this.#bucket.tryTake()) return
    this.#runtime.metrics.count('quota_exhaustions_total', { kind: 'rps' })
    const waitMs = Math.max(1, this.#bucket.waitMs())
    throw refusal('RATE_LIMIT', `This service takes ${rate} webhooks a second; slow down.`, waitMs)
  }
}

export interface GateLimits {
  readonly perAddress: number
  readonly slots: number
  /** Of all bodies together. */
  readonly bytes: number
}

/** A place to read and verify one webhook; given back when disposed. */
export interface VerificationSlot extends Disposable {
  /** Fires, with a refusal as its reason, when this one has to leave. */
  readonly left: AbortSignal
  /** More of the body is here. */
  grow(bytes: number): void
}

export class VerificationGate {
  readonly #limits: () => GateLimits
  readonly #open = new Map<string, number>()
  /** In the order in which they came. */
  readonly #reading = new Set<OpenSlot>()
  #bytes = 0

  constructor(limits: () => GateLimits) {
    this.#limits = limits
  }

  /** A seat for this address; `RATE_LIMIT` if it has as many as it may. */
  enter(address: string): VerificationSlot {
    const open = this.#open.get(address) ?? 0
    const { perAddress: max } = this.#limits()
    if (open >= max) {
      throw refusal('RATE_LIMIT', `${max} webhooks of this address are being verified; send fewer at once.`, 1000)
    }
    this.#open.set(address, open + 1)
    const seat = new OpenSlot(
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
    const { slots: seats, bytes } = this.#limits()
    while (this.#bytes > bytes || this.#reading.size > seats) {
      const [oldest] = this.#reading
      if (oldest === undefined) return
      this.#forget(oldest)
      oldest.mustLeave(refusal('BACKPRESSURE', 'Too much is being read at once; send it again, and faster.', 1000))
    }
  }

  #leave(seat: OpenSlot, address: string): void {
    this.#forget(seat)
    const left = (this.#open.get(address) ?? 1) - 1
    if (left === 0) this.#open.delete(address)
    else this.#open.set(address, left)
  }

  #forget(seat: OpenSlot): void {
    if (this.#reading.delete(seat)) this.#bytes -= seat.bytes
  }
}

class OpenSlot implements VerificationSlot {
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
