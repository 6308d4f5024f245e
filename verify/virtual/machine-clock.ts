import type { Clock, Timer, VirtualClock } from '@cairn/kernel'

const NEVER: Timer = { cancel: () => undefined }

/** One life's view of the world's clock: its timers die with it, and its wall clock may be wrong on its own. */
export class MachineClock implements Clock {
  readonly #world: VirtualClock
  readonly #timers = new Set<Timer>()
  #skewMs: number
  #stopped = false

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

  pending(): number {
    return this.#timers.size
  }

  timer(delayMs: number, fire: () => void): Timer {
    if (this.#stopped) return NEVER
    const inWorld = this.#world.timer(delayMs, () => {
      this.#timers.delete(timer)
      fire()
    })
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
