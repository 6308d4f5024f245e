/**
 * Chunks into an object: hashed, stored, and visible only once all of it is durable.
 *
 *     chunks ─▶ in line, unsynced ─▶ … ─▶ commit: one sync for all of them ─▶ told
 *                  └─ at most two in memory: the next is not taken before the one before the last is written
 */
import { CairnError } from '@cairn/kernel'
import { type DriveStore, laterOf, type Submission } from '@cairn/store'
import { type Address, addressOf, type BuiltObject, ManifestBuilder } from '@cairn/wire'
import { lostWrites, otherBytes } from '../errors.ts'

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
  store: DriveStore['chunks'],
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

export interface PutRequest {
  /** Of `chunkSize` bytes each, but for the last; each stays as it is until the next but one is asked for. */
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** The same bytes in one piece, if they are in memory. */
  readonly whole?: Uint8Array
  readonly chunkSize: number
  readonly type: string
  /** What the client says it is; other bytes are a conflict and nothing of them becomes visible. */
  readonly expected: Address | undefined
  /** Keeps the chunks until the object does. */
  readonly upload: string
  /** Who holds the object from its first moment on. */
  readonly owners: readonly string[]
  /** Where the drive is one of several targets. */
  readonly version?: number
}

/** Puts objects, wherever their copies go. */
export interface ObjectSink {
  put(request: PutRequest): Promise<ObjectPutResult>
}

/** An object whose chunks are on the drive, durable or in line to be. */
export interface StagedObject {
  readonly built: BuiltObject
  readonly newChunks: number
  /** Resolves when every chunk is durable. */
  readonly durable: () => Promise<void>
}

export interface ObjectPutResult {
  readonly address: Address
  readonly size: number
  readonly isNew: boolean
  /** Chunks that were not here before. */
  readonly newChunks: number
  /** Copies made and wanted, where there is more than one target. */
  readonly copies?: { readonly made: number; readonly wanted: number; readonly told?: number }
}

export class ObjectWriter implements ObjectSink {
  readonly #storage: DriveStore

  constructor(storage: DriveStore) {
    this.#storage = storage
  }

  async put(request: PutRequest): Promise<ObjectPutResult> {
    const { built, newChunks, durable } = await this.stage(request)
    const isNew = (await this.#commit(built, request)) === 'new'
    // An object that was here and had lost chunks has them again: they must be durable before that is said.
    if (!isNew) await durable()
    return { address: built.id, size: built.size, isNew, newChunks }
  }

  /** Stores the chunks, kept by the upload; nothing is visible yet. */
  async stage(request: Omit<PutRequest, 'type' | 'owners'>): Promise<StagedObject> {
    const builder = new ManifestBuilder(request.chunkSize)
    let newChunks = 0
    let last: Submission | undefined
    for await (const chunk of request.chunks) {
      const id = builder.add(chunk)
      const submitted = this.#storage.chunks.submit(id, chunk, request.upload, { lazy: true, isProved: true })
      // Also if this one needs no writing: with the next, the buffer of the one before it is filled again.
      await last?.written()
      if (submitted === 'present') continue
      last = laterOf(last, submitted.write)
      if (submitted.isNew) newChunks += 1
    }
    // The last chunk is not waited for: it goes to the drive together with the record of the object.
    const built = builder.finish()
    if (request.expected !== undefined && request.expected !== built.id) throw otherBytes(request.expected, built.id)
    // The object of no bytes has one chunk of no bytes, so that reading needs no special case.
    if (built.size === 0) await this.#storage.chunks.put(built.id, new Uint8Array(0), { upload: request.upload })
    // A drive that fails takes everything with it that is not durable, so the last one speaks for all.
    return { built, newChunks, durable: async () => void (await last?.durable()) }
  }

  async #commit(built: BuiltObject, request: PutRequest): Promise<'new' | 'present'> {
    const { id, size } = built
    const manifest = built.kind === 'chunked' ? built.manifest : undefined
    const { type, chunkSize, upload, owners, version } = request
    const { objects, copies } = this.#storage
    const object = { id, size, type, chunkSize, manifest, upload, owners }
    try {
      return version === undefined ? await objects.commit(object) : await copies.commit({ ...object, version })
    } catch (error) {
      // They were put in line a moment ago and an upload keeps them: only a failed write takes them away again.
      if (error instanceof CairnError && error.code === 'missing_chunks') throw lostWrites()
      throw error
    }
  }
}
