/**
 * Buffers for chunks, used again and again: a fresh 64 KiB buffer costs more than reading into it.
 *
 *     pool ─ take ─▶ read, verified ─▶ shared by the cache and by readers ─ last one lets go ─▶ pool
 */

/** The usual chunk; larger ones are rare enough to be allocated each time. */
const POOLED_BYTES = 64 * 1024

/** Verified bytes, held until disposed. Disposing twice lets go once; using them after that is a defect. */
export interface ChunkBytes extends Disposable {
  readonly bytes: Uint8Array
}

export class BufferPool {
  readonly #free: Uint8Array[] = []
  readonly #keepMax: number

  /** Keeps at most `keepBytes` of buffers nobody uses. */
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

/** Bytes that go back to the pool when the last holder lets go. */
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
    return new Hold(this)
  }

  /** For `Hold` alone: whoever holds disposes of what `hold` gave. */
  letGo(): void {
    this.#holders -= 1
    if (this.#holders === 0) this.#pool.give(this.bytes)
  }
}

class Hold implements ChunkBytes {
  readonly bytes: Uint8Array
  #shared: SharedBytes | undefined

  constructor(shared: SharedBytes) {
    this.bytes = shared.bytes
    this.#shared = shared
  }

  [Symbol.dispose](): void {
    const shared = this.#shared
    this.#shared = undefined
    shared?.letGo()
  }
}
