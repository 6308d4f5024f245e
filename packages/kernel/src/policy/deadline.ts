import type { Clock } from '../clock.ts'
import { CairnError } from '../errors.ts'

/** Kept back from what is forwarded to the next hop, so that its answer can still be used here. */
const HOP_MARGIN_MS = 10

/** An instant after which an answer is worth nothing. A child never outlives its parent. */
export class Deadline {
  readonly #clock: Clock
  /** On the monotonic clock. */
  readonly at: number

  private constructor(clock: Clock, at: number) {
    this.#clock = clock
    this.at = at
  }

  static after(clock: Clock, ms: number): Deadline {
    return new Deadline(clock, clock.now() + ms)
  }

  /** The earlier of this and `ms` from now. */
  child(ms: number): Deadline {
    return new Deadline(this.#clock, Math.min(this.at, this.#clock.now() + ms))
  }

  get clock(): Clock {
    return this.#clock
  }

  /** Milliseconds left, never negative. */
  remaining(): number {
    return Math.max(0, this.at - this.#clock.now())
  }

  get expired(): boolean {
    return this.#clock.now() >= this.at
  }

  /** Throws `Timeout` when there is no budget left: work that cannot be used is not started. */
  throwIfExpired(operation: string): void {
    if (this.expired) throw timedOut(operation)
  }

  /** The `Request-Timeout` value for the next hop: what is left, less a margin. */
  toHeader(): string {
    return `${Math.max(0, Math.floor(this.remaining() - HOP_MARGIN_MS))}ms`
  }
}

export function timedOut(operation: string): CairnError {
  return new CairnError('Timeout', `The time for ${operation} ran out.`)
}

export interface DeadlineHeaders {
  /** `Request-Timeout`: `2s`, `1500ms`, or whole seconds. */
  readonly requestTimeout?: string | undefined
  /** `Deadline`: Unix milliseconds. */
  readonly deadline?: string | undefined
}

/** The budget in milliseconds the headers ask for, `undefined` if none; throws `Malformed` on anything unclear. */
export function parseBudget(headers: DeadlineHeaders, wallNow: number): number | undefined {
  const timeout = headers.requestTimeout === undefined ? undefined : parseTimeout(headers.requestTimeout)
  const until = headers.deadline === undefined ? undefined : parseInstant(headers.deadline) - wallNow
  if (timeout === undefined) return until === undefined ? undefined : Math.max(0, until)
  return Math.max(0, Math.min(timeout, until ?? timeout))
}

function parseTimeout(text: string): number {
  const match = /^(\d{1,9})(ms|s)?$/.exec(text)
  if (match === null)
    throw new CairnError('Malformed', 'Request-Timeout must look like 2s, 1500ms or 2 (whole seconds).')
  return Number(match[1]) * (match[2] === 'ms' ? 1 : 1000)
}

function parseInstant(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new CairnError('Malformed', 'Deadline must be a Unix time in whole milliseconds.')
  return Number(text)
}
