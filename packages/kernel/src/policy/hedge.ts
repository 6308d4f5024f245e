/** `hedge-core.ts` with promises, a timer and one signal per leg. */
import { canceled } from '../channel/waiters.ts'
import type { Clock, Timer } from '../clock.ts'
import { Cancel } from './cancel.ts'
import * as core from './hedge-core.ts'

export type HedgeLeg<T> = (signal: AbortSignal) => Promise<T>

export interface HedgeOptions<T> {
  /** Sent at once (α). */
  readonly first: readonly HedgeLeg<T>[]
  /** Sent after the delay, or as soon as every first leg has failed (β). */
  readonly second: readonly HedgeLeg<T>[]
  readonly delayMs: number
  /** Whether an answer ends the search; every answer does when absent. */
  readonly satisfies?: (answer: T) => boolean
  readonly signal?: AbortSignal
}

export interface HedgeResult<T> {
  readonly answer: T
  readonly leg: number
  readonly hedged: boolean
}

/**
 * The first satisfactory answer of any leg. When it returns or throws, every other leg was aborted
 * and has ended. Without a satisfactory answer it throws all the legs' errors together.
 */
export async function hedge<T>(clock: Clock, options: HedgeOptions<T>): Promise<HedgeResult<T>> {
  return await new HedgeRun(clock, options).run()
}

class HedgeRun<T> {
  readonly #core: core.HedgeCore
  readonly #options: HedgeOptions<T>
  readonly #legs: readonly HedgeLeg<T>[]
  readonly #cancels: Cancel[] = []
  readonly #running: Promise<void>[] = []
  readonly #errors: unknown[] = []
  readonly #settled = Promise.withResolvers<HedgeResult<T>>()
  readonly #timer: Timer | undefined

  constructor(clock: Clock, options: HedgeOptions<T>) {
    this.#options = options
    this.#core = core.createHedge(options.first.length, options.second.length)
    this.#legs = [...options.first, ...options.second]
    if (options.second.length > 0) {
      this.#timer = clock.timer(options.delayMs, () => {
        if (core.delayOver(this.#core) === 'start-second') this.#startSecond()
      })
    }
  }

  async run(): Promise<HedgeResult<T>> {
    for (let leg = 0; leg < this.#core.first; leg += 1) this.#start(leg)
    try {
      return await this.#settled.promise
    } finally {
      this.#timer?.cancel()
      for (const cancel of this.#cancels) cancel.abort()
      await Promise.all(this.#running)
    }
  }

  #startSecond(): void {
    this.#timer?.cancel()
    for (let leg = this.#core.first; leg < this.#legs.length; leg += 1) this.#start(leg)
  }

  #start(leg: number): void {
    const { signal } = this.#options
    if (signal?.aborted === true) {
      this.#failed(leg, canceled(signal))
      return
    }
    const cancel = new Cancel({ signals: [signal] })
    this.#cancels.push(cancel)
    this.#running.push(this.#runLeg(leg, cancel.signal))
  }

  async #runLeg(leg: number, signal: AbortSignal): Promise<void> {
    const run = this.#legs[leg]
    if (run === undefined) return
    try {
      const answer = await run(signal)
      if (this.#options.satisfies?.(answer) ?? true) this.#satisfied(leg, answer)
      else this.#failed(leg, new Error('The answer does not satisfy.'))
    } catch (error) {
      this.#failed(leg, error)
    }
  }

  #satisfied(leg: number, answer: T): void {
    const hedged = this.#core.state.tag === 'both'
    if (core.legSatisfied(this.#core, leg) === 'won') this.#settled.resolve({ answer, leg, hedged })
  }

  #failed(leg: number, error: unknown): void {
    this.#errors.push(error)
    const step = core.legFailed(this.#core, leg)
    if (step === 'start-second') this.#startSecond()
    if (step === 'lost') this.#settled.reject(new AggregateError(this.#errors, 'Every leg of the hedge failed.'))
  }
}
