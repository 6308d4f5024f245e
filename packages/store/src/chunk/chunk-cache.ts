/**
 * The cache of chunks that were read and hashed, and the pool their buffers come from. A cached chunk needs no second
 * check.
 *
 *     read from the drive ─┬─ the first time lately ─▶ its name is remembered
 *                          └─ again ─▶ kept; the least recently used go
 *
 * So a large object that streams through, whose chunks are read once each, pushes out nothing.
 */

/*
 * The pool: buffers for chunks, used again and again. A fresh 64 KiB buffer costs more than reading into it.
 *
 *     pool ─ take ─▶ read, verified ─▶ shared by the cache and by readers ─ the last disposes ─▶ pool
 */

/** The usual chunk; larger ones are rare enough to be allocated each time. */
const POOLED_BYTES = 64 * 1024

/** Verified bytes, held until disposed. Disposing twice releases once; using them after that is a defect. */
export interface ChunkBytes extends Disposable {
  readonly bytes: Uint8Array
}

export class BufferPool {
  readonly #free: Uint8Array[] = []
  readonly #keepMax: number

  /** Keeps at most `keepBytes` of unused buffers. */
  constructor(keepBytes: number) {
    this.#keepMax = Math.floor(keepBytes / POOLED_BYTES)
  }

  take(length: number): Uint8Array {
    if (length > POOLED_BYTES) return new Uint8Array(length)
    const buffer = this.#free.pop() ?? new Uint8Array(POOLED_BYTES)
    return buffer.subarray(0, length)
  }

  give(bytes: Uint8Array): void {
    const { buffer, byteOffset } = bytes
    if (byteOffset !== 0 || buffer.byteLength !== POOLED_BYTES || this.#free.length >= this.#keepMax) return
    this.#free.push(new Uint8Array(buffer))
  }

  get free(): number {
    return this.#free.length
  }
}

/** Bytes that go back to the pool when the last holder disposes of them. */
export class SharedBytes {
  readonly bytes: Uint8Array
  readonly #pool: BufferPool
  #holders = 0

  constructor(bytes: Uint8Array, pool: BufferPool) {
    this.bytes = bytes
    this.#pool = pool
  }

  /** The same bytes in no more memory than they need: a short chunk would keep a whole buffer of the pool. */
  compact(): SharedBytes {
    return this.bytes.length === this.bytes.buffer.byteLength ? this : new SharedBytes(this.bytes.slice(), this.#pool)
  }

  hold(): ChunkBytes {
    this.#holders += 1
    return new SharedBytesHold(this)
  }

  /** For `SharedBytesHold` alone: a holder disposes of what `hold` returned. */
  release(): void {
    this.#holders -= 1
    if (this.#holders === 0) this.#pool.give(this.bytes)
  }
}

class SharedBytesHold implements ChunkBytes {
  readonly bytes: Uint8Array
  #shared: SharedBytes | undefined

  constructor(shared: SharedBytes) {
    this.bytes = shared.bytes
    this.#shared = shared
  }

  [Symbol.dispose](): void {
    const shared = this.#shared
    this.#shared = undefined
    shared?.release()
  }
}

/*
 * The names of chunks that were read lately.
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

interface CachedChunk {
  readonly shared: SharedBytes
  /** The cache's own hold on the bytes. */
  readonly hold: ChunkBytes
}

export class ChunkCache {
  readonly #bytesMax: number
  readonly #recent: RecentReads
  readonly #cached = new Map<string, CachedChunk>()
  /** The last in the map: used again, it need not be moved there. */
  #newest: CachedChunk | undefined
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
