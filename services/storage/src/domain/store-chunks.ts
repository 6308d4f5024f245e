import type { Storage, Submission } from '@cairn/store'
import { addressOf } from '@cairn/wire'

export interface StoredChunks {
  readonly chunks: number
  readonly new: number
  readonly bytes: number
}

/** Stores chunks under their own hashes, two in memory at a time and one sync for all; all are durable at the end. */
export async function storeChunks(
  store: Storage['chunks'],
  chunks: AsyncIterable<Uint8Array>,
  upload: string,
): Promise<StoredChunks> {
  let count = 0
  let bytes = 0
  let fresh = 0
  let last: Submission | undefined
  for await (const chunk of chunks) {
    const submitted = store.submit(addressOf(chunk), chunk, upload, { lazy: true })
    count += 1
    bytes += chunk.length
    if (submitted === 'present') continue
    await last?.written()
    last = submitted.write
    if (submitted.isNew) fresh += 1
  }
  // A drive that fails takes everything with it that is not durable, so the last one speaks for all.
  await last?.durable()
  return { chunks: count, new: fresh, bytes }
}
