/**
 * Polls a condition at a fixed interval and skips the polls at which nothing can have changed.
 *
 *     polls     │     │     │     │     │     │          every `intervalMs`, from when the wait began
 *     changes             ▲                ▲
 *     evaluated                 │                │       only the first poll after a change
 *
 * What is seen, and when, is the same as if every poll had been evaluated.
 */
import { sleep } from '@cairn/kernel'
import { type VirtualClock } from '@cairn/kernel/testing'

export class ConditionPoller {
  readonly #clock: VirtualClock
  readonly #waiting = new Set<() => void>()

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  /** To be called when something changed that may be looked for. */
  changed(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** Until a look finds that it is so, or until the last look. */
  async until(isSo: () => boolean, intervalMs: number, pollsMax = Number.POSITIVE_INFINITY): Promise<void> {
    const clock = this.#clock
    const last = lastOf(clock.now(), intervalMs, pollsMax)
    for (let look = clock.now(); clock.now() < last; ) {
      if (!isSo()) {
        await this.#change(last)
        continue
      }
      while (look <= clock.now()) look += intervalMs
      await sleep(clock, look - clock.now())
      if (isSo()) return
    }
  }

  /** The next change, or this moment. */
  async #change(last: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    const timer = Number.isFinite(last) ? this.#clock.timer(last - this.#clock.now(), resolve) : undefined
    await promise
    this.#waiting.delete(resolve)
    timer?.cancel()
  }
}

/** Added one by one, as whoever sleeps between looks adds them: to the last bit the same moment. */
function lastOf(now: number, intervalMs: number, pollsMax: number): number {
  if (pollsMax === Number.POSITIVE_INFINITY) return pollsMax
  let last = now
  for (let looks = 0; looks < pollsMax; looks += 1) last += intervalMs
  return last
}
