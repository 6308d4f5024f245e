/**
 * Two buffers, filled in turn: one is written while the next chunk arrives in the other.
 *
 *     take ─▶ A, take ─▶ B, take ─▶ A …        what is in a buffer is good until the next but one is taken
 */
export class TwoBuffers {
  #older = new Uint8Array(0)
  #newer = new Uint8Array(0)

  take(length: number): Uint8Array {
    const buffer = this.#older.length < length ? new Uint8Array(length) : this.#older
    this.#older = this.#newer
    this.#newer = buffer
    return buffer.subarray(0, length)
  }
}
