/**
 * Chunks into an object: hashed, stored, and visible only once all of it is durable.
 *
 *     chunks ─▶ in line, unsynced ─▶ … ─▶ commit: one sync for all of them ─▶ told
 *                  └─ at most two in memory: the next is not taken before the one before the last is written
 */
import { CairnError } from '@cairn/kernel'
import type { Storage, Submission } from '@cairn/store'
import { type Address, addressFromDigest, type BuiltObject, ManifestBuilder } from '@cairn/wire'
import { lostWrites, otherBytes } from '../errors.ts'

const DIGEST_BYTES = 32
/** Chunks looked up in one step; more would hold up everybody else. */
const LOOK_UP_MAX = 1024

export interface PutRequest {
  /** Of `chunkSize` bytes each, but for the last; none is changed after it was handed over. */
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  readonly chunkSize: number
  readonly type: string
  /** What the client says it is; other bytes are a conflict and nothing of them becomes visible. */
  readonly expected: Address | undefined
  /** Keeps the chunks until the object does. */
  readonly upload: string
}

export interface PutResult {
  readonly address: Address
  readonly size: number
  readonly isNew: boolean
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
    for await (const chunk of request.chunks) {
      const id = builder.add(chunk)
      const submitted = this.#storage.chunks.submit(id, chunk, request.upload, { lazy: true })
      await previous?.written()
      previous = submitted === 'present' ? undefined : submitted.write
      if (submitted !== 'present' && submitted.isNew) newChunks += 1
    }
    await previous?.written()
    const built = builder.finish()
    if (request.expected !== undefined && request.expected !== built.id) throw otherBytes(request.expected, built.id)
    // The object of no bytes has one chunk of no bytes, so that reading needs no special case.
    if (built.size === 0) await this.#storage.chunks.put(built.id, new Uint8Array(0), { upload: request.upload })
    const isNew = (await this.#commit(built, request)) === 'new'
    // An object that was here and had lost chunks has them again: they must be durable before that is said.
    if (!isNew && newChunks > 0) await this.#settle(built, previous, request.upload)
    return { address: built.id, size: built.size, isNew, newChunks }
  }

  async #commit(built: BuiltObject, { type, chunkSize, upload }: PutRequest): Promise<'new' | 'present'> {
    const manifest = built.kind === 'chunked' ? built.manifest : undefined
    try {
      return await this.#storage.objects.commit({ id: built.id, size: built.size, type, chunkSize, manifest, upload })
    } catch (error) {
      // They were put in line a moment ago and an upload keeps them: only a failed write takes them away again.
      if (error instanceof CairnError && error.code === 'missing_chunks') throw lostWrites()
      throw error
    }
  }

  async #settle(built: BuiltObject, last: Submission | undefined, upload: string): Promise<void> {
    await last?.durable()
    const ids = built.kind === 'chunked' ? addressesOf(built.manifest.chunkIds) : [built.id]
    for (let at = 0; at < ids.length; at += LOOK_UP_MAX) {
      const missing = await this.#storage.chunks.missing(ids.slice(at, at + LOOK_UP_MAX), upload)
      if (missing.length > 0) throw lostWrites()
    }
  }
}

function addressesOf(packed: Uint8Array): Address[] {
  return Array.from({ length: packed.length / DIGEST_BYTES }, (_, at) =>
    addressFromDigest(packed.slice(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES)),
  )
}
