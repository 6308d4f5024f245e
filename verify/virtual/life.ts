/**
 * One life of a machine, from start to crash. Every call the code makes to its platform passes here:
 *
 *     call ─▶ counted, traced ─▶ begin (the effect may now happen) ─▶ latency ─▶ end (the result) ─▶ settled
 *                                      │
 *                                      └─ the n-th call, or a crash meanwhile ─▶ never settled
 *
 * After the end of a life nothing it awaits ever settles, and its timers never fire. The code itself is
 * not stopped, it just never hears back: exactly what a power cut looks like from inside.
 */
import { SeededRandom, type VirtualClock } from '@cairn/kernel/testing'
import { MachineClock } from './machine-clock.ts'
import type { Trace } from './trace.ts'

export interface PlatformCall<T> {
  /** For the trace: what, on what, and with which bytes. */
  readonly name: string
  readonly detail: string
  readonly data?: readonly Uint8Array[]
  readonly latencyMs: number
  /** What a crash during the call may or may not leave behind; runs at once. Throwing fails the call after its latency. */
  readonly begin?: () => void
  /** What is certain once the caller is told; runs at the end of the latency. */
  readonly end: () => T
}

export interface LifeOptions {
  readonly machine: string
  readonly clock: VirtualClock
  readonly trace: Trace
  readonly seed: number
  readonly skewMs: number
}

export class Life {
  readonly machine: string
  readonly clock: MachineClock
  /** The environment's dice: latencies, fates. Not those of the code under test. */
  readonly chance: SeededRandom
  readonly #trace: Trace
  #calls = 0
  #last: { left: number; readonly of: string | undefined; readonly end: () => void } | undefined
  #alive = true
  readonly #hearers: (() => void)[] = []

  constructor({ machine, clock, trace, seed, skewMs }: LifeOptions) {
    this.machine = machine
    this.clock = new MachineClock(clock, skewMs)
    this.chance = new SeededRandom(seed)
    this.#trace = trace
  }

  get alive(): boolean {
    return this.#alive
  }

  get calls(): number {
    return this.#calls
  }

  /** The n-th call from now, or the n-th of this name, is the last: it begins, and then `end` is called. */
  endAfter(calls: number, end: () => void, of?: string): void {
    this.#last = { left: calls, of, end }
  }

  /** Calls `hear` when it is over; at once if it is. */
  onceOver(hear: () => void): void {
    if (this.#alive) this.#hearers.push(hear)
    else hear()
  }

  end(): void {
    this.#alive = false
    this.clock.stop()
    for (const hear of this.#hearers) hear()
  }

  /** Adds to the trace; silent after the end. */
  note(line: string, data: readonly Uint8Array[] = []): void {
    if (this.#alive) this.#trace.note(`${this.clock.now()} ${this.machine} ${line}`, data)
  }

  async call<T>({ name, detail, data = [], latencyMs, begin, end }: PlatformCall<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (!this.#alive) return await promise
    this.#calls += 1
    const number = this.#calls
    this.note(`${number} ${name} ${detail}`, data)
    const settle = (produce: () => T): void => {
      try {
        const value = produce()
        this.note(`${number} ok ${typeof value === 'number' ? value : ''}`)
        resolve(value)
      } catch (error) {
        this.note(`${number} failed ${String(error)}`)
        reject(error)
      }
    }
    let produce = end
    try {
      begin?.()
    } catch (error) {
      produce = () => {
        throw error
      }
    }
    if (this.#last !== undefined && name === (this.#last.of ?? name)) {
      this.#last.left -= 1
      if (this.#last.left === 0) this.#last.end()
    }
    this.clock.timer(latencyMs, () => settle(produce))
    return await promise
  }

  /** A latency between half and one and a half times the usual. */
  latency(usualMs: number): number {
    return usualMs * (0.5 + this.chance.next())
  }
}
