import { createHash } from 'node:crypto'

/** How many of the last lines are kept to be read by people. */
const LINES_KEPT = 200
const PENDING_MAX = 16_384

/**
 * Everything that passed between the simulated machines and the code under test, as one running hash.
 * Two runs with the same hash made the same calls with the same bytes at the same virtual times.
 */
export class Trace {
  readonly #hash = createHash('sha256')
  readonly #last: string[] = []
  /** Lines the hash has not seen yet: it is much faster with many at once. */
  #pending = ''
  #count = 0

  note(line: string, data: readonly Uint8Array[] = []): void {
    this.#pending += line
    if (data.length > 0) this.#flush()
    for (const bytes of data) this.#hash.update(bytes)
    this.#pending += '\n'
    if (this.#pending.length >= PENDING_MAX) this.#flush()
    this.#count += 1
    this.#last.push(line)
    if (this.#last.length >= 2 * LINES_KEPT) this.#last.splice(0, LINES_KEPT)
  }

  get count(): number {
    return this.#count
  }

  /** The hash of everything so far. */
  hash(): string {
    this.#flush()
    return this.#hash.copy().digest('hex')
  }

  #flush(): void {
    this.#hash.update(this.#pending)
    this.#pending = ''
  }

  /** The last lines, oldest first. */
  tail(): readonly string[] {
    return this.#last.slice(-LINES_KEPT)
  }
}
