/**
 * Bytes into an object: cut, hashed, stored, and visible only once all of it is durable.
 *
 *     body ─▶ chunks of chunk_size ─▶ in line, unsynced ─▶ … ─▶ commit: one sync for all of them ─▶ told
 *                └─ at most two in memory: the next is not taken before the one before the last is written
 */
import { CairnError } from '@cairn/kernel'
import type { Storage, Submission } from '@cairn/store'
import { type Address, type BuiltObject, ManifestBuilder } from '@cairn/wire'

export interface PutRequest {
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  readonly type: string
  readonly chunkSize: number
  readonly bytesMax: number
  /** What the client says it is; other bytes are a conflict and nothing of them becomes visible. */
  readonly expected: Address | undefined
  /** Keeps the chunks until the object does. */
  readonly upload: string
}

export interface PutResult {
  readonly address: Address
  readonly size: number
  readonly new: boolean
  /** Chunks that were not here before. */
  readonly newChunks: number
}

export class ObjectWriter {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  async put(request: PutRequest): Promise<PutResult> {
    const builder = new ManifestBuilder(request.chunkSize)
    let newChunks = 0
    let previous: Submission | undefined
    const store = async (chunk: Uint8Array): Promise<void> => {
      const id = builder.add(chunk)
      const submitted = this.#storage.chunks.submit(id, chunk, request.upload, { lazy: true })
      await previous?.written()
      previous = submitted === 'present' ? undefined : submitted.write
      if (submitted !== 'present' && submitted.isNew) newChunks += 1
    }
    for await (const chunk of rechunk(request.body, request.chunkSize, request.bytesMax)) await store(chunk)
    const built = builder.finish()
    if (request.expected !== undefined && request.expected !== built.id) throw mismatch(request.expected, built.id)
    if (built.size === 0) await this.#storeEmpty(built, request.upload)
    const outcome = await this.#commit(built, request)
    return { address: built.id, size: built.size, new: outcome === 'new', newChunks }
  }

  /** The object of no bytes has one chunk of no bytes, so that reading needs no special case. */
  async #storeEmpty({ id }: BuiltObject, upload: string): Promise<void> {
    await this.#storage.chunks.put(id, new Uint8Array(0), { upload })
  }

  async #commit(built: BuiltObject, { type, chunkSize, upload }: PutRequest): Promise<'new' | 'present'> {
    const manifest = built.kind === 'chunked' ? built.manifest : undefined
    return await this.#storage.objects.commit({ id: built.id, size: built.size, type, chunkSize, manifest, upload })
  }
}

/** The same bytes in pieces of exactly `size`, but for the last; each piece is a buffer of its own. */
async function* rechunk(body: PutRequest['body'], size: number, bytesMax: number): AsyncGenerator<Uint8Array> {
  let chunk = new Uint8Array(size)
  let filled = 0
  let total = 0
  for await (const piece of body) {
    total += piece.length
    if (total > bytesMax)
      throw new CairnError('TooLarge', `An object has at most ${bytesMax} bytes.`, { code: 'payload_too_large' })
    for (let at = 0; at < piece.length; ) {
      const take = Math.min(piece.length - at, size - filled)
      chunk.set(piece.subarray(at, at + take), filled)
      filled += take
      at += take
      if (filled < size) continue
      yield chunk
      chunk = new Uint8Array(size)
      filled = 0
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled)
}

function mismatch(expected: Address, actual: Address): CairnError {
  return new CairnError('Conflict', `These bytes are ${actual}, not ${expected}; nothing was stored under either.`, {
    code: 'digest_mismatch',
  })
}
