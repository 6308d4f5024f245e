/** Where the bytes of a put come from, and how they are cut. */
import { canceled, throwIfCanceled } from '@cairn/kernel'
import { DEFAULT_CHUNK_BYTES } from '@cairn/wire'

type Pieces = AsyncIterable<Uint8Array>

/**
 * Bytes, or a stream of them. A function opens the stream, and may be asked to do so again if the service lost what it
 * had been sent.
 */
export type Source = Uint8Array | Blob | ReadableStream<Uint8Array> | Pieces | (() => Pieces)

export interface OpenSource {
  readonly open: () => Pieces
  /** The same bytes can be had once more. */
  readonly isRepeatable: boolean
}

export function sourceOf(source: Source): OpenSource {
  if (source instanceof Uint8Array) return { open: () => once(source), isRepeatable: true }
  if (source instanceof Blob) return { open: () => streamed(source.stream()), isRepeatable: true }
  if (typeof source === 'function') return { open: source, isRepeatable: true }
  if (source instanceof ReadableStream) return { open: () => streamed(source), isRepeatable: false }
  return { open: () => source, isRepeatable: false }
}

/** The bytes in chunks, each a buffer of its own, `count` to a batch but for the last. */
export async function* batchesOf(pieces: Pieces, count: number, signal: AbortSignal): AsyncGenerator<Uint8Array[]> {
  let batch: Uint8Array[] = []
  let chunk = new Uint8Array(DEFAULT_CHUNK_BYTES)
  let filled = 0
  for await (const piece of untilAborted(pieces, signal)) {
    for (let at = 0; at < piece.length; ) {
      const take = Math.min(piece.length - at, chunk.length - filled)
      chunk.set(piece.subarray(at, at + take), filled)
      filled += take
      at += take
      if (filled < chunk.length) continue
      batch.push(chunk)
      chunk = new Uint8Array(DEFAULT_CHUNK_BYTES)
      filled = 0
      if (batch.length < count) continue
      yield batch
      batch = []
    }
  }
  if (filled > 0) batch.push(chunk.subarray(0, filled))
  if (batch.length > 0) yield batch
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
