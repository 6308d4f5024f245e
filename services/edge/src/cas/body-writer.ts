/** Takes a body in: readers get it as it comes, the cache keeps it, and nothing of a body that fails stays. */
import { type CairnError, type Metrics, toCairnError } from '@cairn/kernel'
import { type Address, addressFromDigest, type Blake3Hasher, createBlake3 } from '@cairn/wire'
import { fillTooLarge, noRoomInMemory } from '../errors.ts'
import type { Cas } from './cas.ts'
import { CHUNK_BYTES, type StoredBody } from './entry.ts'
import { GrowingBody, type SealedChunk } from './growing-body.ts'

/** Chunks on their way to the disk; more make the sender wait. */
const WRITES_MAX = 16
/** Of a body under way, kept in memory for readers; past it they read what the cache has. */
const MEMORY_BYTES_MAX = 2 * 1024 * 1024

export interface BodyWriterOptions {
  readonly bytesMax: number
  readonly lengthExpected: number | undefined
  /** The cache is in memory and no larger than this. */
  readonly amnesia: boolean
}

export class BodyWriter {
  readonly growing: GrowingBody
  readonly #cas: Cas
  readonly #metrics: Metrics
  readonly #options: BodyWriterOptions
  readonly #hasher: Blake3Hasher = createBlake3()
  /** By index; holes while chunks are on their way. */
  readonly #ids: Address[] = []
  readonly #writes = new Set<Promise<void>>()
  #hasNew = false
  #failure: CairnError | undefined

  constructor(cas: Cas, metrics: Metrics, options: BodyWriterOptions) {
    this.#cas = cas
    this.#metrics = metrics
    this.#options = options
    this.growing = new GrowingBody(async (id) => await cas.readChunk(id), options.lengthExpected)
    this.#checkSize(options.lengthExpected ?? 0)
  }

  /** Takes a piece; waits while the disk is behind. */
  async push(piece: Uint8Array): Promise<void> {
    this.#checkSize(this.growing.length + piece.length)
    this.#hasher.update(piece)
    for (const chunk of this.growing.append(piece)) this.#write(chunk)
    while (this.#writes.size >= WRITES_MAX) await Promise.all([...this.#writes].slice(0, 1))
    this.#throwIfStuck()
  }

  /** The whole body is here: readers end, and once it is durable it is an entry's to keep. Nothing if the disk refused it. */
  async finish(): Promise<StoredBody | undefined> {
    const last = this.growing.sealTail()
    if (last !== undefined) this.#write(last)
    this.growing.end()
    await Promise.all(this.#writes)
    if (this.#failure !== undefined) {
      this.#metrics.count('edge_cas_writes_total', { status: 'error' })
      return undefined
    }
    this.#metrics.count('edge_cas_writes_total', { status: this.#hasNew ? 'ok' : 'dedup' })
    return { address: addressFromDigest(this.#hasher.digest()), size: this.growing.length, chunks: [...this.#ids] }
  }

  /** The body broke off: whoever reads it hears why, and the cache forgets it. */
  async fail(error: unknown): Promise<void> {
    this.growing.fail(error)
    await Promise.all(this.#writes)
    this.#release()
  }

  /** Once an entry needs the chunks, or nobody reads them any more, the writer does not. */
  handOver(): void {
    this.#release()
  }

  #release(): void {
    this.#cas.releaseChunks(Object.values(this.#ids))
    this.#ids.length = 0
  }

  #checkSize(length: number): void {
    const { bytesMax, amnesia } = this.#options
    if (amnesia && length > this.#cas.bytesMax) throw noRoomInMemory(this.#cas.bytesMax)
    if (length > bytesMax) throw fillTooLarge(bytesMax)
  }

  /** A disk that refuses costs the cache the body, not the readers; unless memory would have to hold too much. */
  #throwIfStuck(): void {
    if (this.#failure !== undefined && this.growing.length > MEMORY_BYTES_MAX) throw this.#failure
  }

  #write({ index, bytes }: SealedChunk): void {
    const write = this.#keep(index, bytes).catch((error: unknown) => {
      this.#failure ??= toCairnError(error)
    })
    const tracked = write.finally(() => {
      this.#writes.delete(tracked)
    })
    this.#writes.add(tracked)
  }

  async #keep(index: number, bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) return
    const { id, isNew } = await this.#cas.keepChunk(bytes)
    this.#ids[index] = id
    this.#hasNew ||= isNew
    this.growing.kept(index, id, (index + 1) * CHUNK_BYTES > MEMORY_BYTES_MAX)
  }
}
