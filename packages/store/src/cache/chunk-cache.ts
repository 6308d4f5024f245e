import type { ChunkBytes, SharedBytes } from './chunk-bytes.ts'

interface Cached {
  readonly shared: SharedBytes
  /** The cache's own hold on the bytes. */
  readonly hold: ChunkBytes
}

/** Chunks that were read and hashed once, least recently used first out. What is in here needs no proof any more. */
export class ChunkCache {
  readonly #bytesMax: number
  readonly #cached = new Map<string, Cached>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  get(id: string): ChunkBytes | undefined {
    const cached = this.#cached.get(id)
    if (cached === undefined) return undefined
    this.#cached.delete(id)
    this.#cached.set(id, cached)
    return cached.shared.hold()
  }

  add(id: string, shared: SharedBytes): void {
    const { length } = shared.bytes
    if (length > this.#bytesMax || this.#cached.has(id)) return
    for (const oldest of this.#cached.keys()) {
      if (this.#bytes + length <= this.#bytesMax) break
      this.remove(oldest)
    }
    this.#cached.set(id, { shared, hold: shared.hold() })
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
