import type { Storage, Submission } from '@cairn/store'
import { addressOf } from '@cairn/wire'

export interface StoredChunks {
  readonly chunks: number
  readonly new: number
  readonly bytes: number
}

/**
 * Stores chunks under their own hashes, one sync for all; all are durable at the end. Two are in memory at a time: each
 * stays as it is until the next but one is asked for.
 */
export async function storeChunks(
  store: Storage['chunks'],
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  upload: string,
): Promise<StoredChunks> {
  let count = 0
  let bytes = 0
  let fresh = 0
  let last: Submission | undefined
  for await (const chunk of chunks) {
    const submitted = store.submit(addressOf(chunk), chunk, upload, { lazy: true, isProved: true })
    count += 1
    bytes += chunk.length
    // Also if this one needs no writing: with the next, the buffer of the one before it is filled again.
    await last?.written()
    if (submitted === 'present') continue
    last = submitted.write
    if (submitted.isNew) fresh += 1
  }
  // A drive that fails takes everything with it that is not durable, so the last one speaks for all.
  await last?.durable()
  return { chunks: count, new: fresh, bytes }
}
