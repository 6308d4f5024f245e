/**
 * The bytes of one file in memory.
 *
 *     block 0        block 1      block 2
 *     [64 KiB  ]     (hole)       [ 3 KiB used, 4 KiB allocated ]      length = 2 × 64 KiB + 3 KiB
 *
 * Growing never copies more than one block, a hole costs nothing, and a small file is small.
 */

const BLOCK_BYTES = 64 * 1024
const BLOCK_BYTES_MIN = 256

export class FileBytes {
  #blocks: (Uint8Array | undefined)[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Writes at `position`; a gap after the old end reads as zeros. */
  write(position: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) {
      const at = position + done
      const within = at % BLOCK_BYTES
      const part = bytes.subarray(done, done + BLOCK_BYTES - within)
      this.#room((at - within) / BLOCK_BYTES, within + part.length).set(part, within)
      done += part.length
    }
    this.#length = Math.max(this.#length, position + bytes.length)
  }

  /** Copies from `position` into `into`; returns how many bytes there were. */
  read(position: number, into: Uint8Array): number {
    const count = Math.max(0, Math.min(into.length, this.#length - position))
    for (let done = 0; done < count; ) {
      const at = position + done
      const within = at % BLOCK_BYTES
      const part = Math.min(count - done, BLOCK_BYTES - within)
      const stored = this.#blocks[(at - within) / BLOCK_BYTES]?.subarray(within, within + part)
      into.fill(0, done, done + part)
      if (stored !== undefined) into.set(stored, done)
      done += part
    }
    return count
  }

  /** Makes the file this long: what is cut is gone, what is added reads as zeros. */
  resize(length: number): void {
    if (length < this.#length) {
      const last = Math.floor(length / BLOCK_BYTES)
      this.#blocks.length = Math.min(this.#blocks.length, last + 1)
      this.#blocks[last]?.fill(0, length % BLOCK_BYTES)
    }
    this.#length = length
  }

  /** A copy that shares nothing. */
  clone(): FileBytes {
    const copy = new FileBytes()
    copy.#blocks = this.#blocks.map((block) => block?.slice())
    copy.#length = this.#length
    return copy
  }

  #room(index: number, bytes: number): Uint8Array {
    const block = this.#blocks[index]
    if (block !== undefined && block.length >= bytes) return block
    let size = BLOCK_BYTES_MIN
    while (size < bytes) size *= 2
    const larger = new Uint8Array(size)
    if (block !== undefined) larger.set(block)
    this.#blocks[index] = larger
    return larger
  }
}
