/**
 * Chunks that were read and hashed, and are worth their memory. What is in here needs no proof any more.
 *
 *     read from the drive ─┬─ the first time lately ─▶ its name is remembered
 *                          └─ again ─▶ kept; the least recently used go
 *
 * So a large object that streams through, whose chunks are read once each, pushes out nothing.
 */
import type { ChunkBytes, SharedBytes } from './chunk-bytes.ts'
import { RecentReads } from './recent-reads.ts'

interface Cached {
  readonly shared: SharedBytes
  /** The cache's own hold on the bytes. */
  readonly hold: ChunkBytes
}

export class ChunkCache {
  readonly #bytesMax: number
  readonly #recent: RecentReads
  readonly #cached = new Map<string, Cached>()
  /** The last in the map: used again, it need not be moved there. */
  #newest: Cached | undefined
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#recent = new RecentReads(bytesMax)
  }

  get bytes(): number {
    return this.#bytes
  }

  get(id: string): ChunkBytes | undefined {
    const cached = this.#cached.get(id)
    if (cached === undefined) return undefined
    if (this.#newest !== cached) {
      this.#cached.delete(id)
      this.#cached.set(id, cached)
      this.#newest = cached
    }
    return cached.shared.hold()
  }

  /** Told of every read from the drive; keeps what was read before, not long ago, if it is still worth keeping. */
  offer(id: string, shared: SharedBytes, isStillThere: () => boolean = () => true): void {
    const { length } = shared.bytes
    if (length > this.#bytesMax || this.#cached.has(id)) return
    if (!this.#recent.again(id, length) || !isStillThere()) return
    for (const oldest of this.#cached.keys()) {
      if (this.#bytes + length <= this.#bytesMax) break
      this.remove(oldest)
    }
    const kept = shared.compact()
    const cached = { shared: kept, hold: kept.hold() }
    this.#cached.set(id, cached)
    this.#newest = cached
    this.#bytes += length
  }

  remove(id: string): void {
    const cached = this.#cached.get(id)
    if (cached === undefined) return
    this.#cached.delete(id)
    this.#bytes -= cached.shared.bytes.length
    cached.hold[Symbol.dispose]()
  }

  clear(): void {
    for (const id of this.#cached.keys()) this.remove(id)
  }
}
