/**
 * Names of what was read lately.
 *
 *     oldest ─▶ │ name │ name │ name │ … ◀─ newest        as many as `bytesMax` bytes of reading, and `NAMES_MAX` at most
 */

/** About 4 MiB of names, and that only when the chunks are small. */
const NAMES_MAX = 32_768

export class RecentReads {
  readonly #bytesMax: number
  readonly #lengths = new Map<string, number>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Whether it was read lately. If not, it is remembered from now on; if so, it is forgotten. */
  again(name: string, length: number): boolean {
    if (this.#forget(name)) return true
    this.#lengths.set(name, length)
    this.#bytes += length
    for (const oldest of this.#lengths.keys()) {
      if (this.#bytes <= this.#bytesMax && this.#lengths.size <= NAMES_MAX) break
      this.#forget(oldest)
    }
    return false
  }

  #forget(name: string): boolean {
    this.#bytes -= this.#lengths.get(name) ?? 0
    return this.#lengths.delete(name)
  }
}
