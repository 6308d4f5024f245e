/**
 * Answers to writes that came with an `Idempotency-Key`, for a day and over restarts: the same request again gets the
 * same answer, also while the first is still under way. What failed is not remembered, so that it can be tried again.
 *
 *     answers.json   {"v":1,"answers":[[digest of the request, until, status, body],…]}      replaced whole
 *
 * Operators write seldom, so one small file is enough.
 */

import { json, type RequestContext } from '@cairn/http'
import { CairnError, type Clock, Semaphore } from '@cairn/kernel'
import { type Disk, readSmallFile, replaceSmallFile } from '@cairn/platform'
import type { IngressResponse } from '@cairn/transport'
import { addressOf } from '@cairn/wire'
import { z } from 'zod'

const REMEMBERED_MS = 24 * 3_600_000
/** With their answers less than the largest small file. */
const ANSWERS_MAX = 4096
const KEY_LENGTH_MAX = 255

const file = z.strictObject({
  v: z.literal(1),
  answers: z.array(z.tuple([z.string(), z.number(), z.int(), z.unknown()])),
})

/** A status, and what is said as JSON. */
export interface JsonAnswer {
  readonly status: number
  readonly body: unknown
}

interface Remembered {
  readonly answer: Promise<JsonAnswer>
  /** By the clock of this process. */
  readonly until: number
  /** Once it is there: what goes into the file. */
  settled?: JsonAnswer
}

export class Idempotency {
  readonly #disk: Disk
  readonly #path: string
  readonly #clock: Clock
  readonly #turn = new Semaphore(1)
  readonly #answers = new Map<string, Remembered>()

  private constructor(disk: Disk, path: string, clock: Clock) {
    this.#disk = disk
    this.#path = path
    this.#clock = clock
  }

  /** Reads the answers of earlier lives from this directory, which is there. */
  static async open(disk: Disk, directory: string, clock: Clock): Promise<Idempotency> {
    const path = `${directory}/answers.json`
    const opened = new Idempotency(disk, path, clock)
    const bytes = await readSmallFile(disk, path)
    if (bytes !== undefined) opened.#load(bytes)
    return opened
  }

  /** Runs `act` unless this very request, by its key, route, body and token, was answered within a day. */
  async once(
    context: RequestContext<unknown, unknown, unknown>,
    act: () => Promise<JsonAnswer>,
  ): Promise<IngressResponse> {
    const given = context.headers.get('idempotency-key')
    const { status, body } =
      given === undefined || given.length > KEY_LENGTH_MAX
        ? await act()
        : await this.#outcomeOf(identityOf(context, given), act)
    return json(status, body)
  }

  async #outcomeOf(key: string, act: () => Promise<JsonAnswer>): Promise<JsonAnswer> {
    const known = this.#answers.get(key)
    if (known !== undefined && this.#clock.now() < known.until) return await known.answer
    const remembered: Remembered = { answer: this.#perform(key, act), until: this.#clock.now() + REMEMBERED_MS }
    this.#answers.delete(key)
    this.#answers.set(key, remembered)
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > ANSWERS_MAX && oldest !== undefined) this.#answers.delete(oldest)
    try {
      return await remembered.answer
    } catch (error) {
      if (this.#answers.get(key) === remembered) this.#answers.delete(key)
      throw error
    }
  }

  /** An answer is given once it is durable: whoever heard it may ask again after a restart. */
  async #perform(key: string, act: () => Promise<JsonAnswer>): Promise<JsonAnswer> {
    const outcome = await act()
    using _turn = await this.#turn.acquire()
    const own = this.#answers.get(key)
    if (own !== undefined) own.settled = outcome
    const [now, wall] = [this.#clock.now(), Math.floor(this.#clock.wall())]
    const answers: unknown[] = []
    for (const [digest, { until, settled }] of this.#answers) {
      if (settled !== undefined && until > now) {
        answers.push([digest, wall + Math.floor(until - now), settled.status, settled.body])
      }
    }
    await replaceSmallFile(this.#disk, this.#path, new TextEncoder().encode(JSON.stringify({ v: 1, answers })))
    return outcome
  }

  #load(bytes: Uint8Array): void {
    const [now, wall] = [this.#clock.now(), this.#clock.wall()]
    try {
      for (const [key, until, status, body] of file.parse(JSON.parse(new TextDecoder().decode(bytes))).answers) {
        const settled = { status, body }
        // However the wall clock was set meanwhile, nothing is remembered for longer than a day.
        const leftMs = Math.min(until - wall, REMEMBERED_MS)
        if (leftMs > 0) this.#answers.set(key, { answer: Promise.resolve(settled), until: now + leftMs, settled })
      }
    } catch (cause) {
      const detail = `${this.#path} is damaged; remove it to begin without answers to requests that may come again.`
      throw new CairnError('Integrity', detail, { cause })
    }
  }
}

function identityOf({ path, body, token }: RequestContext<unknown, unknown, unknown>, given: string): string {
  const text = JSON.stringify([path, body, token?.tid ?? '', given])
  return addressOf(new TextEncoder().encode(text))
}
