/**
 * Who copies the files of this process's services now. While anybody does, nothing in them is removed or rewritten;
 * whoever does not say so again in time counts as gone.
 */
import { CairnError, Cancel, type Clock, Deadline, type Permit } from '@cairn/kernel'
import { MaintenanceLock } from '@cairn/platform'

/** A compaction that is under way is waited for; it takes a few seconds. */
const WAIT_MS = 60_000

export class BackupLocks {
  readonly #clock: Clock
  readonly #services = new Map<string, MaintenanceLock>()
  /** Until when each holder is believed to be there. */
  readonly #holders = new Map<string, number>()
  #permits: Promise<readonly Permit[]> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Of a service of this process. */
  maintenanceLockOf(service: string): MaintenanceLock {
    const lock = this.#services.get(service) ?? new MaintenanceLock()
    this.#services.set(service, lock)
    return lock
  }

  /** Nothing is removed from when this resolves until the time is over; saying it again gives more time. */
  async hold(holder: string, forMs: number): Promise<void> {
    this.#holders.set(holder, this.#clock.now() + forMs)
    this.#permits ??= this.#take()
    try {
      await this.#permits
    } catch (error) {
      this.#holders.delete(holder)
      this.#permits = undefined
      throw error
    }
    // Not before now does its time begin: it may have waited for long.
    this.#holders.set(holder, this.#clock.now() + forMs)
  }

  async release(holder: string): Promise<void> {
    this.#holders.delete(holder)
    await this.#letGo()
  }

  /** Forgets who did not come back in time. */
  async expire(): Promise<void> {
    const now = this.#clock.now()
    for (const [holder, until] of this.#holders) if (until <= now) this.#holders.delete(holder)
    await this.#letGo()
  }

  async #take(): Promise<readonly Permit[]> {
    using cancel = new Cancel({ deadline: Deadline.after(this.#clock, WAIT_MS) })
    const taken: Permit[] = []
    try {
      for (const lock of this.#services.values()) taken.push(await lock.hold({ signal: cancel.signal }))
      return taken
    } catch (cause) {
      for (const permit of taken) permit[Symbol.dispose]()
      throw new CairnError('Busy', 'Files are being compacted; try again in a minute.', { cause })
    }
  }

  async #letGo(): Promise<void> {
    if (this.#holders.size > 0 || this.#permits === undefined) return
    const permits = this.#permits
    this.#permits = undefined
    for (const permit of await permits) permit[Symbol.dispose]()
  }
}
