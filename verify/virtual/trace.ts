import { createHash } from 'node:crypto'

/** How many of the last lines are kept to be read by people. */
const LINES_KEPT = 200
const PENDING_BYTES_MAX = 65_536
/** A character of UTF-16 takes at most so many bytes of UTF-8. */
const CHARACTER_BYTES_MAX = 3

/**
 * Everything that passed between the simulated machines and the code under test, as one running hash.
 * Two runs with the same hash made the same calls with the same bytes at the same virtual times.
 */
export class Trace {
  readonly #hash = createHash('sha256')
  readonly #last: string[] = []
  /** What the hash has not seen yet: it is much faster with much at once. */
  readonly #pending = Buffer.allocUnsafeSlow(PENDING_BYTES_MAX)
  #pendingBytes = 0
  #count = 0

  note(line: string, data: readonly Uint8Array[] = []): void {
    this.#write(data.length === 0 ? `${line}\n` : line)
    for (const bytes of data) this.#append(bytes)
    if (data.length > 0) this.#write('\n')
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

  #write(text: string): void {
    if (!this.#hasRoom(text.length * CHARACTER_BYTES_MAX)) this.#hash.update(text)
    else this.#pendingBytes += this.#pending.write(text, this.#pendingBytes)
  }

  #append(bytes: Uint8Array): void {
    if (!this.#hasRoom(bytes.length)) {
      this.#hash.update(bytes)
      return
    }
    this.#pending.set(bytes, this.#pendingBytes)
    this.#pendingBytes += bytes.length
  }

  /** Makes room for so many bytes, if there can be. */
  #hasRoom(bytes: number): boolean {
    if (this.#pendingBytes + bytes > PENDING_BYTES_MAX) this.#flush()
    return bytes <= PENDING_BYTES_MAX
  }

  #flush(): void {
    this.#hash.update(this.#pending.subarray(0, this.#pendingBytes))
    this.#pendingBytes = 0
  }

  /** The last lines, oldest first. */
  tail(): readonly string[] {
    return this.#last.slice(-LINES_KEPT)
  }
}
