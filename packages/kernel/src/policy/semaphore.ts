import { type WaitOptions, waitIn } from '../channel/waiters.ts'
import * as core from './semaphore-core.ts'

/** Held until disposed; disposing twice gives one permit back. */
export type Permit = Disposable

/** At most `permits` holders at once; fair; a canceled wait takes no permit. */
export class Semaphore {
  readonly #core: core.SemaphoreCore

  constructor(permits: number) {
    this.#core = core.createSemaphore(permits)
  }

  tryAcquire(): Permit | undefined {
    return core.tryAcquire(this.#core) ? this.#permit() : undefined
  }

  async acquire(options: WaitOptions = {}): Promise<Permit> {
    if (!core.tryAcquire(this.#core)) await waitIn(this.#core.line, options)
    return this.#permit()
  }

  get available(): number {
    return this.#core.available
  }

  get waiting(): number {
    return this.#core.line.size
  }

  #permit(): Permit {
    let held = true
    return {
      [Symbol.dispose]: () => {
        if (!held) return
        held = false
        core.release(this.#core)
      },
    }
  }
}
