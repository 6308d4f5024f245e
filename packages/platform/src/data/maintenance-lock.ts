/**
 * Turns between work that removes or rewrites files of a service and a backup that copies them.
 *
 *     sweep, compact, prune ── work ──┐
 *                                     ├── one at a time
 *     a backup ─────────────── hold ──┘
 */
import { type Permit, Semaphore, type WaitOptions } from '@cairn/kernel'

export class MaintenanceLock {
  readonly #turn = new Semaphore(1)

  /** Runs the work while no backup copies; a backup waits until it has ended. */
  async work<T>(body: () => Promise<T>, options: WaitOptions = {}): Promise<T> {
    using _turn = await this.#turn.acquire(options)
    return await body()
  }

  /** No such work is under way from now on, and none begins before the permit is given back. */
  async hold(options: WaitOptions = {}): Promise<Permit> {
    return await this.#turn.acquire(options)
  }
}
