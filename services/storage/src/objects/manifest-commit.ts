/**
 * Manifests in: what a manifest claims is proved before the object is visible.
 *
 *     body ─▶ canonical, folds to the address? ─▶ runs of chunks: read, hashed on a worker, compared ─▶ commit
 *                    └─ no: 400 or 409                 └─ not here: 409 with the list of those missing
 */
import { CairnError, Deadline, isKind, sleep } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { ChunkBytes } from '@cairn/store'
import { type Address, chunkAddress, chunkLength, equalBytes, MAX_MANIFEST_BYTES, type Manifest } from '@cairn/wire'
import { type ChunkRun, chainingValues, type EncodedManifest, readManifest } from './chaining-worker.ts'
import type { ChunkSource } from './object-reader.ts'
import type { ObjectPutResult } from './object-writer.ts'

const WORKER = new URL('./chaining-worker.ts', import.meta.url)
const CHAIN = { module: WORKER, name: 'chainingValues', types: chainingValues } as const
const READ = { module: WORKER, name: 'readManifest', types: readManifest } as const

const DIGEST_BYTES = 32
/** Chunk bytes hashed in one job. */
const RUN_BYTES = 1024 * 1024
/** A manifest below this folds in well under a millisecond; not worth a thread. */
const INLINE_MANIFEST_BYTES = 64 * 1024
const JOB_TIMEOUT_MS = 5000
const JOB_RETRY_MS = 20

/** An object that was proved, to be made visible. */
export interface ProvedObject {
  readonly id: Address
  readonly size: number
  readonly type: string
  readonly chunkSize: number
  readonly manifest: Manifest
  readonly upload: string
}

/** Where the chunks of an upload are, and how an object becomes visible that is made of them. */
export interface CommitPlace {
  readonly chunks: ChunkSource
  commit(object: ProvedObject): Promise<Pick<ObjectPutResult, 'isNew' | 'copies'>>
}

export interface ManifestCommit {
  readonly place: CommitPlace
  readonly id: Address
  readonly body: AsyncIterable<Uint8Array>
  readonly type: string
  readonly upload: string
  readonly signal: AbortSignal
  /** Runs a read of the disk in the pool. */
  readonly inPool: <T>(read: () => Promise<T>) => Promise<T>
}

export type CommitOutcome =
  | ({ readonly tag: 'committed'; readonly size: number } & Pick<ObjectPutResult, 'isNew' | 'copies'>)
  | { readonly tag: 'missing'; readonly ids: readonly Address[] }

interface ChunkSpan {
  readonly first: number
  readonly count: number
  /** Where its bytes go. */
  readonly room: Uint8Array
}

export class ManifestCommits {
  readonly #platform: Platform

  constructor(platform: Platform) {
    this.#platform = platform
  }

  async commit(commit: ManifestCommit): Promise<CommitOutcome> {
    const manifest = await this.#read(await collect(commit.body), commit)
    const missing: Address[] = []
    const perRun = Math.max(1, Math.floor(RUN_BYTES / manifest.chunkSize))
    // One for all runs, and shared with the thread: a copy for each would be gigabytes for the collector.
    const room = new Uint8Array(new SharedArrayBuffer(perRun * manifest.chunkSize))
    for (let first = 0; first < manifest.chunkCount; first += perRun) {
      const count = Math.min(perRun, manifest.chunkCount - first)
      missing.push(...(await this.#prove(manifest, { first, count, room }, commit)))
    }
    if (missing.length > 0) return { tag: 'missing', ids: missing }
    const { id, type, upload, place } = commit
    const { size, chunkSize } = manifest
    try {
      return { tag: 'committed', size, ...(await place.commit({ id, size, type, chunkSize, manifest, upload })) }
    } catch (error) {
      if (error instanceof CairnError && error.code === 'missing_chunks' && Array.isArray(error.cause))
        return { tag: 'missing', ids: error.cause as Address[] }
      throw error
    }
  }

  /** What comes in is a client's word: if it does not fold to the address, that is a conflict, not damage of ours. */
  async #read(bytes: Uint8Array, { id, signal }: ManifestCommit): Promise<Manifest> {
    try {
      if (bytes.length <= INLINE_MANIFEST_BYTES) return readManifest({ bytes, id })
      const options = { transfer: [], signal }
      return await this.#job(async (deadline) => {
        const input: EncodedManifest = { bytes, id }
        return await this.#platform.workers.run(READ, input, { ...options, deadline })
      }, signal)
    } catch (error) {
      if (isKind(error, 'Integrity')) throw new CairnError('Conflict', error.message, { code: 'conflict' })
      throw error
    }
  }

  /** Proves a run of chunks; returns those that are not here. */
  async #prove(manifest: Manifest, { first, count, room }: ChunkSpan, commit: ManifestCommit): Promise<Address[]> {
    const held: ChunkBytes[] = []
    try {
      const missing = await commit.inPool(
        async () => await readRun(commit.place.chunks, manifest, { first, count }, held),
      )
      if (missing.length > 0) return missing
      const bytes = joined(manifest, first, held, room)
      const { chunkSize } = manifest
      const values = await this.#job(async (deadline) => {
        const input: ChunkRun = { bytes, chunkSize, first }
        return await this.#platform.workers.run(CHAIN, input, { deadline, signal: commit.signal })
      }, commit.signal)
      const claimed = manifest.chainingValues.subarray(first * DIGEST_BYTES, (first + count) * DIGEST_BYTES)
      if (!equalBytes(values, claimed)) throw notItsChunks(manifest.id)
      return []
    } finally {
      for (const each of held) each[Symbol.dispose]()
    }
  }

  /** A commit has begun and goes on: when the threads are busy it waits for them. */
  async #job<T>(run: (deadline: Deadline) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock } = this.#platform
    for (;;) {
      try {
        return await run(Deadline.after(clock, JOB_TIMEOUT_MS))
      } catch (error) {
        if (!isKind(error, 'Busy')) throw error
        await sleep(clock, JOB_RETRY_MS, { signal })
      }
    }
  }
}

async function readRun(
  chunks: ChunkSource,
  manifest: Manifest,
  { first, count }: Pick<ChunkSpan, 'first' | 'count'>,
  held: ChunkBytes[],
): Promise<Address[]> {
  const missing: Address[] = []
  for (let at = first; at < first + count; at += 1) {
    const id = chunkAddress(manifest, at)
    const bytes = await readOrMiss(chunks, id)
    if (bytes === undefined) missing.push(id)
    else held.push(bytes)
  }
  return missing
}

/** A chunk that is damaged here is one the client can send again. */
async function readOrMiss(chunks: ChunkSource, id: Address): Promise<ChunkBytes | undefined> {
  try {
    return await chunks.read(id)
  } catch (error) {
    if (isKind(error, 'Integrity')) return undefined
    throw error
  }
}

function joined(manifest: Manifest, first: number, held: readonly ChunkBytes[], room: Uint8Array): Uint8Array {
  let filled = 0
  for (const [at, { bytes: chunk }] of held.entries()) {
    if (chunk.length !== chunkLength(manifest, first + at)) throw notItsChunks(manifest.id)
    room.set(chunk, filled)
    filled += chunk.length
  }
  return room.subarray(0, filled)
}

function notItsChunks(id: Address): CairnError {
  const detail = `The manifest names chunks that are not those of ${id}; nothing was stored.`
  return new CairnError('Conflict', detail, { code: 'chunk_mismatch' })
}

/**
 * The body in one buffer that a thread can read as well: sent there, it would be copied twice. It grows in place, so
 * nothing of it is left behind.
 */
async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const room = new SharedArrayBuffer(0, { maxByteLength: MAX_MANIFEST_BYTES })
  for await (const piece of body) {
    const filled = room.byteLength
    if (filled + piece.length > MAX_MANIFEST_BYTES)
      throw new CairnError('TooLarge', `A manifest has at most ${MAX_MANIFEST_BYTES} bytes.`)
    room.grow(filled + piece.length)
    new Uint8Array(room).set(piece, filled)
  }
  return new Uint8Array(room)
}
