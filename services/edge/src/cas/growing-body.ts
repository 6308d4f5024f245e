/**
 * A body on its way in, read by as many as like while it grows.
 *
 *     piece ─▶ │ sealed 64 KiB │ sealed 64 KiB │ tail … │           readers are anywhere before the end
 *                    └── kept by the cache: its memory may go, whoever comes later reads it from there
 *
 * Bytes once appended never change, so a reader may be handed a part of the tail while the rest of it is filled.
 */
import { CairnError, toCairnError, Watch } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import { CHUNK_BYTES } from './entry.ts'

export interface SealedChunk {
  readonly index: number
  readonly bytes: Uint8Array
}

interface ChunkSlot {
  bytes: Uint8Array | undefined
  id: Address | undefined
}

type BodyProgress =
  | { readonly tag: 'growing'; readonly length: number }
  | { readonly tag: 'ended'; readonly length: number }
  | { readonly tag: 'failed'; readonly error: CairnError }

/** Reads a chunk that the cache keeps. */
export type ReadChunk = (id: Address) => Promise<{ readonly bytes: Uint8Array } & Disposable>

export class GrowingBody {
  readonly #progress = new Watch<BodyProgress>({ tag: 'growing', length: 0 })
  readonly #slots: ChunkSlot[] = []
  readonly #read: ReadChunk
  #tail: Uint8Array
  #tailLength = 0
  #length = 0

  constructor(read: ReadChunk, lengthExpected: number | undefined) {
    this.#read = read
    this.#tail = new Uint8Array(Math.min(CHUNK_BYTES, Math.max(1, lengthExpected ?? CHUNK_BYTES)))
  }

  get length(): number {
    return this.#length
  }

  /** Copies the piece in; returns the chunks it completed. */
  append(piece: Uint8Array): SealedChunk[] {
    const sealed: SealedChunk[] = []
    for (let at = 0; at < piece.length; ) {
      if (this.#tailLength === this.#tail.length && this.#tail.length < CHUNK_BYTES) this.#widenTail()
      const part = piece.subarray(at, at + this.#tail.length - this.#tailLength)
      this.#tail.set(part, this.#tailLength)
      this.#tailLength += part.length
      at += part.length
      if (this.#tailLength === CHUNK_BYTES) sealed.push(this.#seal())
    }
    this.#length += piece.length
    this.#progress.set({ tag: 'growing', length: this.#length })
    return sealed
  }

  /** The last, shorter chunk, if there is one; an empty body has one empty chunk. */
  sealTail(): SealedChunk | undefined {
    return this.#tailLength > 0 || this.#slots.length === 0 ? this.#seal() : undefined
  }

  /** The cache keeps the chunk: it can be read from there. */
  kept(index: number, id: Address, mayForget: boolean): void {
    const slot = this.#slots[index]
    if (slot === undefined) return
    slot.id = id
    if (mayForget) slot.bytes = undefined
  }

  end(): void {
    this.#progress.set({ tag: 'ended', length: this.#length })
  }

  fail(error: unknown): void {
    this.#progress.set({ tag: 'failed', error: toCairnError(error) })
  }

  /** Everything from the start on, as it comes; throws what ended the body, if that was not its end. */
  async *read(signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    for (let at = 0; ; ) {
      const progress = this.#progress.value
      if (progress.tag === 'failed') throw progress.error
      if (at < progress.length) {
        const slot = this.#slots[Math.floor(at / CHUNK_BYTES)]
        if (slot === undefined) {
          const part = this.#tail.subarray(at % CHUNK_BYTES, this.#tailLength)
          at += part.length
          yield part
        } else if (slot.bytes !== undefined) {
          const part = slot.bytes.subarray(at % CHUNK_BYTES)
          at += part.length
          yield part
        } else {
          using held = await this.#readKept(slot)
          const part = held.bytes.subarray(at % CHUNK_BYTES)
          at += part.length
          yield part
        }
        continue
      }
      if (progress.tag === 'ended') return
      const { version } = this.#progress
      await this.#progress.changed(version, { signal })
    }
  }

  async #readKept({ id }: ChunkSlot): Promise<{ readonly bytes: Uint8Array } & Disposable> {
    if (id === undefined) throw new CairnError('Internal', 'A chunk of a growing body is neither here nor kept.')
    return await this.#read(id)
  }

  #seal(): SealedChunk {
    const bytes = this.#tail.subarray(0, this.#tailLength)
    const index = this.#slots.push({ bytes, id: undefined }) - 1
    this.#tail = new Uint8Array(CHUNK_BYTES)
    this.#tailLength = 0
    return { index, bytes }
  }

  /** More came than was announced, or nothing was: the tail becomes a whole chunk. Readers keep what they hold. */
  #widenTail(): void {
    const wide = new Uint8Array(CHUNK_BYTES)
    wide.set(this.#tail.subarray(0, this.#tailLength))
    this.#tail = wide
  }
}
