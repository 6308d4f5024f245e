/** Where the bytes of a put come from, and how they are cut. */
import { canceled, throwIfCanceled } from '@cairn/kernel'
import type { Batch } from './batch.ts'

type Pieces = AsyncIterable<Uint8Array>

/**
 * Bytes, or a stream of them. A function opens the stream, and may be asked to do so again if the service lost what it
 * had been sent. A piece of a stream is needed only until the next is asked for: its buffer may be used again.
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

/** The bytes in batches of `count` chunks, the last shorter; `take` gives an empty one to fill. */
export async function* batchesOf(
  pieces: Pieces,
  count: number,
  take: () => Batch,
  signal: AbortSignal,
): AsyncGenerator<Batch> {
  let batch: Batch | undefined
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
