import { SystemRandom } from '@cairn/kernel'

const CHUNK_BYTES = 64 * 1024

/** Bytes of which no 64 KiB are like any others: nothing of them is stored already. The buffer is used again each time. */
export class StampedBytes {
  readonly bytes: Buffer<ArrayBuffer>
  #serial = 0

  constructor(length: number) {
    this.bytes = Buffer.alloc(length, new SystemRandom().bytes(CHUNK_BYTES))
  }

  next(): Buffer<ArrayBuffer> {
    for (let at = 0; at + 8 <= this.bytes.length; at += CHUNK_BYTES) {
      this.#serial += 1
      this.bytes.writeDoubleLE(this.#serial, at)
    }
    return this.bytes
  }
}
