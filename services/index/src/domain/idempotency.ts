/**
 * Answers to writes that came with an `Idempotency-Key`, for a day: the same request again gets the same answer, also
 * while the first is still under way. What failed is not remembered, so that it can be tried again.
 */
import type { Clock } from '@cairn/kernel'
import type { IngressResponse, RequestContext } from '@cairn/platform'
import { addressOf } from '@cairn/wire'

const REMEMBERED_MS = 24 * 3_600_000
const ANSWERS_MAX = 10_000
const KEY_LENGTH_MAX = 255

interface Remembered {
  readonly answer: Promise<IngressResponse>
  readonly until: number
}

export class Idempotency {
  readonly #clock: Clock
  readonly #answers = new Map<string, Remembered>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Runs `act` unless this very request, by its key, route, body and token, was answered within a day. */
  async once(
    context: RequestContext<unknown, unknown, unknown>,
    act: () => Promise<IngressResponse>,
  ): Promise<IngressResponse> {
    const given = context.headers.get('idempotency-key')
    if (given === undefined || given.length > KEY_LENGTH_MAX) return await act()
    const key = identityOf(context, given)
    const known = this.#answers.get(key)
    if (known !== undefined && this.#clock.now() < known.until) return await known.answer
    const answer = act()
    this.#answers.delete(key)
    this.#answers.set(key, { answer, until: this.#clock.now() + REMEMBERED_MS })
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > ANSWERS_MAX && oldest !== undefined) this.#answers.delete(oldest)
    try {
      return await answer
    } catch (error) {
      this.#answers.delete(key)
      throw error
    }
  }
}

function identityOf({ path, body, token }: RequestContext<unknown, unknown, unknown>, given: string): string {
  const digest = addressOf(new TextEncoder().encode(JSON.stringify(body)))
  return JSON.stringify([path, digest, token?.tid ?? '', given])
}
