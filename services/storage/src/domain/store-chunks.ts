import type { Storage, Submission } from '@cairn/store'
import { type Address, addressOf } from '@cairn/wire'
import { lostWrites } from '../errors.ts'

/** Chunks looked up in one step; more would hold up everybody else. */
const LOOK_UP_MAX = 1024

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
  const ids: Address[] = []
  let bytes = 0
  let fresh = 0
  let last: Submission | undefined
  for await (const chunk of chunks) {
    const id = addressOf(chunk)
    const submitted = store.submit(id, chunk, upload, { lazy: true })
    ids.push(id)
    bytes += chunk.length
    if (submitted === 'present') continue
    await last?.written()
    last = submitted.write
    if (submitted.isNew) fresh += 1
  }
  await last?.durable()
  // The drive may have failed and recovered in between: each chunk is looked for before any is promised.
  for (let at = 0; at < ids.length; at += LOOK_UP_MAX) {
    const missing = await store.missing(ids.slice(at, at + LOOK_UP_MAX), upload)
    if (missing.length > 0) throw lostWrites()
  }
  return { chunks: ids.length, new: fresh, bytes }
}
