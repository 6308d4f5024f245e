/** Where the bytes of a put come from, and how they are cut. */
import { canceled, throwIfCanceled } from '@cairn/kernel'
import { DEFAULT_CHUNK_BYTES } from '@cairn/wire'

const LENGTH_BYTES = 4
const FRAME_BYTES = LENGTH_BYTES + DEFAULT_CHUNK_BYTES

/**
 * Chunks on their way, in one buffer that is filled again and again. It is what `POST /c` takes:
 *
 *     │ length │ chunk │ length │ chunk │ …        four bytes of length, the highest first; only the last is shorter
 */
export class ChunkBatch {
  #frames = new Uint8Array(0)
  #filled = 0

  /** Chunks that take no more bytes. */
  get wholeChunks(): number {
    return Math.floor(this.#filled / FRAME_BYTES)
  }

  /** Takes bytes up to the end of a chunk; returns how many. */
  add(bytes: Uint8Array): number {
    if (this.#filled % FRAME_BYTES === 0) this.#begin()
    const count = Math.min(bytes.length, FRAME_BYTES - (this.#filled % FRAME_BYTES))
    this.#frames.set(bytes.subarray(0, count), this.#filled)
    this.#filled += count
    return count
  }

  /** The chunks where they lie, good until `framed` or `empty`. */
  chunks(): Uint8Array[] {
    const chunks: Uint8Array[] = []
    for (let at = 0; at < this.#filled; at += FRAME_BYTES)
      chunks.push(this.#frames.subarray(at + LENGTH_BYTES, Math.min(at + FRAME_BYTES, this.#filled)))
    return chunks
  }

  /** The body that sends these of the chunks, given in their order. They are moved together, so it can be asked once. */
  framed(chunks: readonly Uint8Array[]): Uint8Array {
    const view = new DataView(this.#frames.buffer)
    let at = 0
    for (const { byteOffset, length } of chunks) {
      view.setUint32(at, length)
      at += LENGTH_BYTES
      if (byteOffset !== at) this.#frames.copyWithin(at, byteOffset, byteOffset + length)
      at += length
    }
    return this.#frames.subarray(0, at)
  }

  /** To be filled from the start; nobody may look at what was in it. */
  empty(): this {
    this.#filled = 0
    return this
  }

  /** Grows by doubling, since most objects are short. */
  #begin(): void {
    if (this.#frames.length < this.#filled + FRAME_BYTES) {
      const grown = new Uint8Array(Math.max(FRAME_BYTES, 2 * this.#frames.length))
      grown.set(this.#frames.subarray(0, this.#filled))
      this.#frames = grown
    }
    this.#filled += LENGTH_BYTES
  }
}

type Pieces = AsyncIterable<Uint8Array>

/**
 * Bytes, a text (stored as UTF-8), or a stream of bytes. A function opens the stream, and may be asked to do so again if the service lost what it
 * had been sent. A piece of a stream is needed only until the next is asked for: its buffer may be used again.
 */
export type Source = Uint8Array | string | Blob | ReadableStream<Uint8Array> | Pieces | (() => Pieces)

export interface OpenSource {
  readonly open: () => Pieces
  /** The same bytes can be had once more. */
  readonly isRepeatable: boolean
}

export function sourceOf(source: Source): OpenSource {
  if (typeof source === 'string') return sourceOf(new TextEncoder().encode(source))
  if (source instanceof Uint8Array) return { open: () => once(source), isRepeatable: true }
  if (source instanceof Blob) return { open: () => streamed(source.stream()), isRepeatable: true }
  if (typeof source === 'function') return { open: source, isRepeatable: true }
  if (source instanceof ReadableStream) return { open: () => streamed(source), isRepeatable: false }
  return { open: () => source, isRepeatable: false }
}

/** The bytes in batches of `count` chunks, the last shorter; `take` gives an empty one to fill. */
export async function* batchesOf(
  pieces: Pieces,
  count: number,
  take: () => ChunkBatch,
  signal: AbortSignal,
): AsyncGenerator<ChunkBatch> {
  let batch: ChunkBatch | undefined
  for await (const piece of untilAborted(pieces, signal)) {
    for (let at = 0; at < piece.length; ) {
      batch ??= take()
      at += batch.add(piece.subarray(at))
      if (batch.wholeChunks < count) continue
      yield batch
      batch = undefined
    }
  }
  if (batch !== undefined) yield batch
}

/** The same pieces; a source that hangs does not keep an abort waiting. */
async function* untilAborted(pieces: Pieces, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  let isOver = false
  try {
    for (;;) {
      const next = await abortable(iterator.next(), signal)
      isOver = next.done === true
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // Not awaited: a generator that hangs in `next` takes its `return` only after that.
    if (!isOver) iterator.return?.().then(ignore, ignore)
  }
}

async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  throwIfCanceled(signal)
  return await new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(canceled(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

async function* once(bytes: Uint8Array): Pieces {
  yield await Promise.resolve(bytes)
}

/** Not every browser can iterate a stream. */
export async function* streamed(stream: ReadableStream<Uint8Array>): Pieces {
  const reader = stream.getReader()
  try {
    for (;;) {
      const next = await reader.read()
      if (next.done) return
      yield next.value
    }
  } finally {
    await reader.cancel().catch(ignore)
  }
}

function ignore(): void {}
