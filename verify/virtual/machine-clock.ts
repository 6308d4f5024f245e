import type { Clock, Timer } from '@cairn/kernel'
import type { VirtualClock } from '@cairn/kernel/testing'

const NEVER: Timer = { cancel: () => undefined }

/** One life's view of the world's clock: its timers die with it, and its wall clock may be wrong on its own. */
export class MachineClock implements Clock {
  readonly #world: VirtualClock
  readonly #timers = new Set<Timer>()
  #skewMs: number
  #stopped = false
  #stalledUntil = 0

  constructor(world: VirtualClock, skewMs: number) {
    this.#world = world
    this.#skewMs = skewMs
  }

  now(): number {
    return this.#world.now()
  }

  wall(): number {
    return this.#world.wall() + this.#skewMs
  }

  jumpWall(byMs: number): void {
    this.#skewMs += byMs
  }

  /** No timer fires for this long: the machine stands still, and finds out later. */
  stall(forMs: number): void {
    this.#stalledUntil = this.#world.now() + forMs
  }

  pending(): number {
    return this.#timers.size
  }

  timer(delayMs: number, fire: () => void): Timer {
    if (this.#stopped) return NEVER
    const due = (): void => {
      const lateMs = this.#stalledUntil - this.#world.now()
      if (lateMs > 0) {
        inWorld = this.#world.timer(lateMs, due)
        return
      }
      this.#timers.delete(timer)
      fire()
    }
    let inWorld = this.#world.timer(delayMs, due)
    const timer: Timer = {
      cancel: () => {
        this.#timers.delete(timer)
        inWorld.cancel()
      },
    }
    this.#timers.add(timer)
    return timer
  }

  /** No timer of this life fires any more. */
  stop(): void {
    this.#stopped = true
    for (const timer of this.#timers) timer.cancel()
  }
}
