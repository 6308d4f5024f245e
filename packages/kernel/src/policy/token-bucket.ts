import type { WaitOptions } from '../channel/waiters.ts'
import { type Clock, sleep } from '../clock.ts'
import { Semaphore } from './semaphore.ts'
import * as core from './token-bucket-core.ts'

/** `token-bucket-core.ts` on a clock, with a fair line: who came first is served first, however much it wants. */
export class TokenBucket {
  readonly #clock: Clock
  readonly #core: core.BucketCore
  /** Only the head of the line watches the level; the others wait for their turn. */
  readonly #turn = new Semaphore(1)

  constructor(clock: Clock, shape: core.BucketShape) {
    this.#clock = clock
    this.#core = core.createBucket(shape, clock.now())
  }

  /** Takes now or not at all; never ahead of a waiting task. */
  tryTake(amount = 1): boolean {
    return this.#turn.available > 0 && core.tryTake(this.#core, amount, this.#clock.now())
  }

  /** Takes as soon as the budget allows; a canceled wait takes nothing and delays no other task. */
  async take(amount: number, options: WaitOptions = {}): Promise<void> {
    using _turn = await this.#turn.acquire(options)
    while (!core.tryTake(this.#core, amount, this.#clock.now())) {
      await sleep(this.#clock, core.waitMs(this.#core, amount, this.#clock.now()), options)
    }
  }

  /** How long until `amount` could be taken, for `Retry-After`. */
  waitMs(amount = 1): number {
    return core.waitMs(this.#core, amount, this.#clock.now())
  }
}
