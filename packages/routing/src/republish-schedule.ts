/** `republish-core.ts` on a clock: what to announce next, as soon as it is time. */
import { type Clock, type WaitOptions, Watch } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import * as core from './republish-core.ts'

export class RepublishSchedule {
  readonly #clock: Clock
  readonly #core: core.RepublishCore
  /** Moves whenever the next one may be due earlier than it was. */
  readonly #changes = new Watch(0)

  constructor(clock: Clock) {
    this.#clock = clock
    this.#core = core.createRepublish(clock.now())
  }

  /** How many objects are announced again and again. */
  get size(): number {
    return core.size(this.#core)
  }

  /** Announces this object from now on. */
  add(cid: Address): void {
    core.add(this.#core, cid, this.#clock.now())
    this.#changed()
  }

  /** Stops announcing this object. */
  remove(cid: Address): void {
    core.remove(this.#core, cid)
  }

  /** Waits for the next object to tell; `done` must follow. One caller at a time. */
  async next(options: WaitOptions): Promise<Address> {
    for (;;) {
      const cid = core.take(this.#core, this.#clock.now())
      if (cid !== undefined) return cid
      const { version } = this.#changes
      const waitMs = core.delayMs(this.#core, this.#clock.now())
      const timer = waitMs === undefined ? undefined : this.#clock.timer(Math.ceil(waitMs), () => this.#changed())
      try {
        await this.#changes.changed(version, options)
      } finally {
        timer?.cancel()
      }
    }
  }

  /** What became of it: told, or to be tried again soon. */
  done(cid: Address, outcome: 'told' | 'failed'): void {
    if (outcome === 'told') core.announced(this.#core, cid, this.#clock.now())
    else core.failed(this.#core, cid, this.#clock.now())
    this.#changed()
  }

  #changed(): void {
    this.#changes.set(this.#changes.value + 1)
  }
}
