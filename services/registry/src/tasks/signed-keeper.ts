/**
 * Keeps the newest signed checkpoint outside of the data directory as well; see `signed-record.ts`.
 *
 *     commit … checkpoint durable ─▶ published ─▶ acknowledged
 *                                        └─▶ the newest, when the write before is over ─▶ record ─▶ rest ─▶ the newest …
 *
 * The commit path never waits for it. What is written was durable in the log before: the record is never ahead of a sound
 * log, so a crash cannot make it accuse one. It is behind by what was signed within one rest and one write; a start that
 * finds the log whole, and a clean stop, bring it up to date before anything else is signed or copied.
 */
import { sleep, type TaskBody, type Watching } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Custody } from '../domain/custody.ts'
import type { Published } from '../domain/published.ts'
import type { SignedRecords } from '../domain/signed-record.ts'

/** Between two writes: each costs the drive of the user's home three syncs. */
const REST_MS = 250

export interface SignedKeeperParts {
  readonly origin: string
  readonly published: Watching<Published>
  readonly records: SignedRecords
  readonly custody: Custody
}

export class SignedKeeper {
  readonly #platform: Platform
  readonly #parts: SignedKeeperParts
  #keptSize = 0

  constructor(platform: Platform, parts: SignedKeeperParts) {
    this.#platform = platform
    this.#parts = parts
  }

  readonly run: TaskBody = async ({ draining }) => {
    const { published } = this.#parts
    for (;;) {
      const { version } = published
      await this.keep()
      await sleep(this.#platform.clock, REST_MS, { signal: draining })
      await published.changed(version, { signal: draining })
    }
  }

  /** Writes what is published now, unless that is written. One that only reads has signed nothing to write down. */
  async keep(): Promise<void> {
    const { origin, published, records, custody } = this.#parts
    const { size, note } = published.value
    if (size === this.#keptSize || custody.problem !== undefined) return
    // Another copy of this very log may run beside us.
    const other = await records.read(origin)
    if (other !== undefined && !(await custody.showOwn(other))) return
    await records.write(origin, size, note)
    this.#keptSize = size
  }
}
