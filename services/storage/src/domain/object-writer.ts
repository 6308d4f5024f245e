/**
 * Chunks into an object: hashed, stored, and visible only once all of it is durable.
 *
 *     chunks ─▶ in line, unsynced ─▶ … ─▶ commit: one sync for all of them ─▶ told
 *                  └─ at most two in memory: the next is not taken before the one before the last is written
 */
import { CairnError } from '@cairn/kernel'
import type { Storage, Submission } from '@cairn/store'
import { type Address, type BuiltObject, ManifestBuilder } from '@cairn/wire'
import { lostWrites, otherBytes } from '../errors.ts'

export interface PutRequest {
  /** Of `chunkSize` bytes each, but for the last; each stays as it is until the next but one is asked for. */
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  readonly chunkSize: number
  readonly type: string
  /** What the client says it is; other bytes are a conflict and nothing of them becomes visible. */
  readonly expected: Address | undefined
  /** Keeps the chunks until the object does. */
  readonly upload: string
  /** Who holds the object from its first moment on. */
  readonly owner?: string | undefined
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
    let last: Submission | undefined
    for await (const chunk of request.chunks) {
      const id = builder.add(chunk)
      const submitted = this.#storage.chunks.submit(id, chunk, request.upload, { lazy: true, isProved: true })
      // Also if this one needs no writing: with the next, the buffer of the one before it is filled again.
      await last?.written()
      if (submitted === 'present') continue
      last = submitted.write
      if (submitted.isNew) newChunks += 1
    }
    // The last chunk is not waited for: it goes to the drive together with the record of the object.
    const built = builder.finish()
    if (request.expected !== undefined && request.expected !== built.id) throw otherBytes(request.expected, built.id)
    // The object of no bytes has one chunk of no bytes, so that reading needs no special case.
    if (built.size === 0) await this.#storage.chunks.put(built.id, new Uint8Array(0), { upload: request.upload })
    const isNew = (await this.#commit(built, request)) === 'new'
    // An object that was here and had lost chunks has them again: they must be durable before that is said. A drive
    // that fails takes everything with it that is not durable, so the last one speaks for all.
    if (!isNew) await last?.durable()
    return { address: built.id, size: built.size, isNew, newChunks }
  }

  async #commit(built: BuiltObject, { type, chunkSize, upload, owner }: PutRequest): Promise<'new' | 'present'> {
    const { id, size } = built
    const manifest = built.kind === 'chunked' ? built.manifest : undefined
    try {
      return await this.#storage.objects.commit({ id, size, type, chunkSize, manifest, upload, owner })
    } catch (error) {
      // They were put in line a moment ago and an upload keeps them: only a failed write takes them away again.
      if (error instanceof CairnError && error.code === 'missing_chunks') throw lostWrites()
      throw error
    }
  }
}
