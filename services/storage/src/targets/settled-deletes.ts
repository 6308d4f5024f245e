import { toHex } from '@cairn/wire'

/**
 * Deletes that no target contradicts any more, by the last whole round of the planner: the only ones a drive may forget
 * once they are old enough.
 */
export class SettledDeletes {
  #settled: ReadonlySet<string> = new Set()

  replace(settled: ReadonlySet<string>): void {
    this.#settled = settled
  }

  /** Whether some target may hold an older copy that this delete still has to beat. */
  isNeeded(object: Uint8Array): boolean {
    return !this.#settled.has(toHex(object))
  }
}
