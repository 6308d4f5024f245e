/**
 * Puts objects on several targets.
 *
 *     to the only target ─▶ chunks and record in one sync; nothing orders versions where there is nothing to differ from
 *     in memory, whole ─▶ to every target at once
 *     a stream, or an upload ─▶ chunks on one drive of this node ─▶ from there to every target that lacks them
 */
import { isKind } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { ChunkBytes } from '@cairn/store'
import { type Address, addressOf, type Manifest } from '@cairn/wire'
import { lostWrites, otherBytes } from '../errors.ts'
import type { ChunkSource } from '../objects/object-reader.ts'
import { type ObjectPutResult, type ObjectSink, ObjectWriter, type PutRequest } from '../objects/object-writer.ts'
import type { DriveTarget } from '../targets/drive-target.ts'
import { copyObject } from './copy-object.ts'
import type { Replicas, Written } from './replicas.ts'

/** An object whose chunks are on a drive of this node, durable. */
export interface Landed {
  readonly id: Address
  readonly size: number
  readonly type: string
  readonly chunkSize: number
  readonly manifest: Manifest | undefined
  readonly upload: string
  readonly owners: readonly string[]
}

export class ReplicatedWriter implements ObjectSink {
  readonly #platform: Platform
  readonly #replicas: Replicas
  readonly #chunks: ChunkSource

  constructor(platform: Platform, replicas: Replicas, chunks: ChunkSource) {
    this.#platform = platform
    this.#replicas = replicas
    this.#chunks = chunks
  }

  async put(request: PutRequest): Promise<ObjectPutResult> {
    const { whole, type, chunkSize, owners } = request
    if (this.#replicas.isAlone) return await this.#putAlone(request)
    if (whole === undefined) return await this.#putStream(request)
    const id = addressOf(whole)
    if (request.expected !== undefined && request.expected !== id) throw otherBytes(request.expected, id)
    const written = await this.#replicas.write(id, async (target, version) => {
      const copy = { id, bytes: whole, type, chunkSize, version, owners }
      return await target.put(copy, this.#replicas.call())
    })
    return resultOf(id, whole.length, written)
  }

  /** Copies an object from the drive its chunks are on to where it belongs. */
  async spread({ id, ...landed }: Landed, from: DriveTarget): Promise<Written> {
    if (this.#replicas.isAlone) {
      const stored = await from.drive.contents.storage.objects.commit({ ...landed, id })
      return { stored, made: 1, wanted: 1, told: 0 }
    }
    return await this.#replicas.write(id, async (target, version) => {
      const copy = { ...landed, id, version }
      return await copyObject(this.#platform, target, copy, {
        timeoutMs: this.#replicas.timeoutMs,
        read: async (chunk) => await this.#readLanded(from, id, chunk),
      })
    })
  }

  /** A chunk that was there already may turn out damaged: then any copy will do, and without one it has to be sent again. */
  async #readLanded(from: DriveTarget, object: Address, chunk: Address): Promise<ChunkBytes | undefined> {
    try {
      return await from.readChunk(chunk)
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
    }
    try {
      const held = await this.#chunks.read(chunk, { object, chunk: undefined })
      if (held !== undefined) return held
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
    }
    throw lostWrites()
  }

  /** The chunks are where they belong: they and the record of the object go to the drive in one sync. */
  async #putAlone(request: PutRequest): Promise<ObjectPutResult> {
    const landing = this.#replicas.own.landing(request.upload)
    const result = await new ObjectWriter(landing.drive.contents.storage).put(request)
    if (result.newChunks > 0) this.#platform.metrics.count('chunks_written_total', { tier: 'disk' }, result.newChunks)
    return result
  }

  async #putStream(request: PutRequest): Promise<ObjectPutResult> {
    const { expected, upload, type, chunkSize, owners } = request
    const landing = this.#replicas.own.landing(expected ?? upload)
    const { built, durable } = await new ObjectWriter(landing.drive.contents.storage).stage(request)
    await durable()
    const { id, size } = built
    const manifest = built.kind === 'chunked' ? built.manifest : undefined
    const written = await this.spread({ id, size, type, chunkSize, manifest, upload, owners }, landing)
    return resultOf(id, size, written)
  }
}

function resultOf(address: Address, size: number, { stored, made, wanted, told }: Written): ObjectPutResult {
  // The drives that took them have counted the chunks.
  return { address, size, isNew: stored === 'new', newChunks: 0, copies: { made, wanted, told } }
}
