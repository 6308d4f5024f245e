import { createHash } from 'node:crypto'

/** How many of the last lines are kept to be read by people. */
const LINES_KEPT = 200

/**
 * Everything that passed between the simulated machines and the code under test, as one running hash.
 * Two runs with the same hash made the same calls with the same bytes at the same virtual times.
 */
export class Trace {
  readonly #hash = createHash('sha256')
  readonly #last: string[] = []
  #count = 0

  note(line: string, data: readonly Uint8Array[] = []): void {
    this.#hash.update(line)
    for (const bytes of data) this.#hash.update(bytes)
    this.#hash.update('\n')
    this.#count += 1
    this.#last.push(line)
    if (this.#last.length >= 2 * LINES_KEPT) this.#last.splice(0, LINES_KEPT)
  }

  get count(): number {
    return this.#count
  }

  /** The hash of everything so far. */
  hash(): string {
    return this.#hash.copy().digest('hex')
  }

  /** The last lines, oldest first. */
  tail(): readonly string[] {
    return this.#last.slice(-LINES_KEPT)
  }
}
