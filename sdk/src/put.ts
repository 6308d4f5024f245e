/**
 * An object goes up by the chunk protocol: ask, send, commit.
 *
 *     source ─▶ chunks of 64 KiB, hashed ─▶ batches of 4 MiB ─┬─▶ which are missing? ─▶ send those ─┐
 *                                                             ├─▶ …            (each in its lane)   ├─▶ commit
 *                                                             └─▶ …                                 ┘
 *
 * What the service has is never sent: a put that was cut off, repeated, sends the rest. An object of one chunk goes up
 * in one request.
 */
import { CairnError, isKind, Scope } from '@cairn/kernel'
import { type Address, type BuiltObject, encodeManifest, type Manifest, ManifestBuilder } from '@cairn/wire'
import { type Connection, type Operation, readFields } from './connection.ts'
import { badAnswer } from './http.ts'
import { batchesOf, ChunkBatch, type OpenSource, type Source, sourceOf } from './source.ts'

export interface PutProgress {
  /** Bytes of the source that the service has by now. */
  readonly bytes: number
  /** Those of them that it did not have before. */
  readonly newBytes: number
}

export interface PutOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: (progress: PutProgress) => void
  /** The media type to remember with the object. */
  readonly type?: string
}

export interface PutResult {
  readonly address: Address
  readonly size: number
  readonly newBytes: number
}

/** 4 MiB: large enough that a question and a sync for each do not show, small enough to send again. */
const BATCH_CHUNKS = 64
/** At the slowest pace a service puts up with. */
const BATCH_BUDGET_MS = 300_000
/** The service reads and proves the whole object before it answers. */
const COMMIT_BUDGET_MS = 3_600_000

const OCTETS = 'application/octet-stream'

/** Puts the object and returns its address once it is durable and visible. */
export async function put(connection: Connection, source: Source, options: PutOptions = {}): Promise<PutResult> {
  const opened = sourceOf(source)
  const upload = new Upload(connection, connection.operation(options.signal), options)
  const sent = await upload.send(opened)
  if (sent.built.kind === 'single') return await upload.putWhole(sent.built, sent.only)
  await commit(upload, opened, sent.built.manifest)
  return { address: sent.built.id, size: sent.built.size, newBytes: upload.newBytes }
}

/** A service that lost chunks in the meantime is sent them again, once. */
async function commit(upload: Upload, source: OpenSource, manifest: Manifest): Promise<void> {
  try {
    await upload.commit(manifest)
  } catch (error) {
    if (!isKind(error, 'Conflict') || error.code !== 'missing_chunks' || !source.isRepeatable) throw error
    const again = await upload.send(source, missingIn(error.cause))
    if (again.built.id !== manifest.id)
      throw new CairnError('Conflict', 'The source changed while it was put; put it again.', { code: 'source_changed' })
    await upload.commit(manifest)
  }
}

interface Chunk {
  readonly id: Address
  readonly bytes: Uint8Array
}

interface SentObject {
  readonly built: BuiltObject
  /** The chunk of an object of at most one, which is not sent yet. */
  readonly only: Uint8Array
}

class Upload {
  newBytes = 0
  readonly #connection: Connection
  readonly #operation: Operation
  readonly #options: PutOptions
  /** Batches that were sent, to be filled again. */
  readonly #sent: ChunkBatch[] = []
  /** Chunks some batch is busy with; another batch that has one of them leaves it to that one. */
  readonly #claimed = new Set<Address>()
  #bytes = 0

  constructor(connection: Connection, operation: Operation, options: PutOptions) {
    this.#connection = connection
    this.#operation = operation
    this.#options = options
  }

  /** Sends what the service does not have; if `wanted` is known, just that. */
  async send(source: OpenSource, wanted?: ReadonlySet<Address>): Promise<SentObject> {
    const builder = new ManifestBuilder()
    let only = new Uint8Array(0)
    await using scope = new Scope(this.#connection.runtime, 'put', { signals: [this.#operation.signal] })
    let batches = 0
    const take = (): ChunkBatch => this.#sent.pop()?.empty() ?? new ChunkBatch()
    for await (const batch of batchesOf(source.open(), BATCH_CHUNKS, take, scope.signal)) {
      const chunks = batch.chunks().map((bytes): Chunk => ({ id: builder.add(bytes), bytes }))
      batches += 1
      if (batches === 1 && chunks.length === 1) {
        only = new Uint8Array(chunks[0]?.bytes ?? [])
        continue
      }
      const permit = await this.#connection.batches.acquire({ signal: scope.signal })
      scope.spawn('batch', async (signal) => {
        using _room = permit
        await this.#sendBatch(batch, chunks, wanted, signal)
        // Only now: of a request that failed, nobody knows whether something still reads its body.
        this.#sent.push(batch)
      })
    }
    await scope.join()
    return { built: builder.finish(), only }
  }

  async putWhole({ id: address, size }: BuiltObject, bytes: Uint8Array): Promise<PutResult> {
    const { new: isNew } = await this.#connection.ask(
      {
        method: 'PUT',
        path: `o/${address}`,
        idempotent: true,
        headers: { 'content-type': this.#options.type ?? OCTETS },
        body: bytes,
        read: readFields,
      },
      this.#operation,
    )
    if (isNew === true) this.newBytes = size
    this.#report(size)
    return { address, size, newBytes: this.newBytes }
  }

  async commit(manifest: Manifest): Promise<void> {
    const { address } = await this.#connection.ask(
      {
        method: 'PUT',
        path: `m/${manifest.id}?upload=${this.#operation.id}`,
        idempotent: true,
        headers: { 'content-type': OCTETS, 'x-object-type': this.#options.type ?? OCTETS },
        body: encodeManifest(manifest),
        budgetMs: COMMIT_BUDGET_MS,
        read: readFields,
      },
      this.#operation,
    )
    if (address !== manifest.id) throw badAnswer('is not about the object that was committed')
  }

  async #sendBatch(
    batch: ChunkBatch,
    chunks: readonly Chunk[],
    wanted: ReadonlySet<Address> | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const own = new Map(chunks.filter(({ id }) => !this.#claimed.has(id)).map((chunk) => [chunk.id, chunk]))
    for (const id of own.keys()) this.#claimed.add(id)
    try {
      const operation = { ...this.#operation, signal }
      const missing = wanted ?? (await this.#missing([...own.keys()], operation))
      const absent = [...own.values()].filter(({ id }) => missing.has(id)).map(({ bytes }) => bytes)
      if (absent.length > 0) await this.#sendChunks(batch, absent, operation)
      if (wanted === undefined) this.#report(lengthOf(chunks.map(({ bytes }) => bytes)))
    } finally {
      for (const id of own.keys()) this.#claimed.delete(id)
    }
  }

  async #missing(ids: readonly Address[], operation: Operation): Promise<ReadonlySet<Address>> {
    if (ids.length === 0) return new Set()
    const answer = await this.#connection.ask(
      {
        method: 'POST',
        path: `c/missing?upload=${operation.id}`,
        idempotent: true,
        headers: { 'content-type': 'application/json' },
        body: new TextEncoder().encode(JSON.stringify({ ids })),
        read: readFields,
      },
      operation,
    )
    return missingIn(answer)
  }

  async #sendChunks(batch: ChunkBatch, chunks: readonly Uint8Array[], operation: Operation): Promise<void> {
    const answer = await this.#connection.ask(
      {
        method: 'POST',
        path: `c?upload=${operation.id}`,
        idempotent: true,
        headers: { 'content-type': OCTETS },
        body: batch.framed(chunks),
        budgetMs: BATCH_BUDGET_MS,
        read: readFields,
      },
      operation,
    )
    if (answer['chunks'] !== chunks.length) throw badAnswer(`does not count the ${chunks.length} chunks that were sent`)
    this.newBytes += lengthOf(chunks)
  }

  #report(bytes: number): void {
    this.#bytes += bytes
    this.#options.onProgress?.({ bytes: this.#bytes, newBytes: this.newBytes })
  }
}

function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0)
}

/** The list `missing` of an answer or a problem. Names we did not ask about do no harm: they are looked up, not sent. */
function missingIn(fields: unknown): ReadonlySet<Address> {
  const isObject = typeof fields === 'object' && fields !== null && 'missing' in fields
  if (!isObject || !Array.isArray(fields.missing)) throw badAnswer('has no list of missing chunks')
  return new Set(fields.missing as Address[])
}
