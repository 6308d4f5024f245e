/** A drive of this node as a target. */
import { CairnError, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { ChunkBytes, KnownVersion } from '@cairn/store'
import type { Address, Manifest } from '@cairn/wire'
import { noSuchObject } from '../errors.ts'
import { cutWhole } from '../objects/body-chunks.ts'
import { readStoredManifest } from '../objects/object-reader.ts'
import { ObjectWriter, storeChunks } from '../objects/object-writer.ts'
import type { LocalDrive } from './local-drive.ts'
import type {
  CopyFacts,
  CopyRow,
  Deletion,
  KnownCopy,
  ObjectCopy,
  ObjectTarget,
  TargetHealth,
  TargetIdentity,
  UploadContext,
  WholeCopy,
  WriteOutcome,
} from './target.ts'

export interface DriveTargetOptions {
  /** There is no other target. */
  readonly isAlone: boolean
  readonly node: string
  readonly region: string
  readonly nodeWeight?: number
  /** Whether this record of the object, and all it is made of, was read and hashed since the start. */
  readonly isProved: (drive: LocalDrive, id: Address, lsn: number) => boolean
}

export class DriveTarget implements ObjectTarget {
  readonly drive: LocalDrive
  readonly #platform: Platform
  readonly #options: DriveTargetOptions

  constructor(platform: Platform, drive: LocalDrive, options: DriveTargetOptions) {
    this.#platform = platform
    this.drive = drive
    this.#options = options
  }

  /** Made anew when asked: the uuid and the device are known once the drive was seen. */
  get identity(): TargetIdentity {
    const { id, domain, weight } = this.drive
    const { node, region, nodeWeight = 1 } = this.#options
    return { id, kind: 'drive', node, domain: `${node}/${domain}`, region, weight, nodeWeight }
  }

  health(): TargetHealth {
    // Nothing can take its place, so it is asked whatever its state, and says itself what is wrong with it.
    if (this.#options.isAlone) return { tag: 'up' }
    const { state } = this.drive
    if (state.tag === 'failed') return { tag: 'down', why: state.why }
    const { unready, isStalled, isCatchingUp } = state.storage.facts()
    if (isStalled) return { tag: 'down', why: 'The drive does not answer in time.' }
    if (isCatchingUp) return { tag: 'down', why: 'Its index is being made anew.' }
    return unready === undefined ? { tag: 'up' } : { tag: 'unwritable', why: unready.message }
  }

  async known(ids: readonly Address[]): Promise<readonly KnownCopy[]> {
    return await Promise.all(ids.map(async (id) => await this.#withOwners(id, await this.look(id))))
  }

  /** What it knows of one, but for who holds it: every read asks this. */
  async look(id: Address): Promise<KnownCopy> {
    return this.#copyOf(id, await this.drive.contents.storage.copies.known(id))
  }

  async missing(ids: readonly Address[], { upload }: UploadContext): Promise<readonly Address[]> {
    return await this.drive.contents.storage.chunks.missing(ids, upload)
  }

  async putChunks(chunks: readonly Uint8Array[], { upload }: UploadContext): Promise<void> {
    const { storage } = this.drive.contents
    await this.#writing(async () => {
      const stored = await storeChunks(storage.chunks, chunks, upload)
      if (stored.new > 0) this.#platform.metrics.count('chunks_written_total', { tier: 'disk' }, stored.new)
    })
  }

  async commit(copy: ObjectCopy): Promise<WriteOutcome> {
    const { storage } = this.drive.contents
    return await this.#writing(async () => await storage.copies.commit(copy))
  }

  async put({ id, bytes, type, chunkSize, version, owners }: WholeCopy): Promise<WriteOutcome> {
    const { storage } = this.drive.contents
    const upload = `put ${id}`
    return await this.#writing(async () => {
      const request = { chunks: cutWhole(bytes, chunkSize), type, chunkSize, expected: id, upload, version, owners }
      const { isNew, newChunks } = await new ObjectWriter(storage).put(request)
      if (newChunks > 0) this.#platform.metrics.count('chunks_written_total', { tier: 'disk' }, newChunks)
      return isNew ? 'new' : 'present'
    })
  }

  async readChunk(id: Address): Promise<ChunkBytes | undefined> {
    return await this.drive.contents.chunks.read(id)
  }

  async stat(id: Address): Promise<CopyFacts | undefined> {
    const { storage } = this.drive.contents
    const facts = await storage.objects.stat(id)
    if (facts === undefined) return undefined
    const { size, type, chunkSize, version } = facts
    return { size, type, chunkSize, version, owners: await storage.objects.holds.owners(id) }
  }

  async manifest(id: Address): Promise<Manifest | undefined> {
    const { reader } = this.drive.contents
    const object = await reader.find(id)
    if (object === undefined) throw noSuchObject(id)
    return object.facts.pages.length === 0 ? undefined : await readStoredManifest(reader, object)
  }

  async remove(id: Address, deletion: Deletion): Promise<void> {
    const { storage } = this.drive.contents
    await this.#writing(async () => await storage.copies.remove(id, deletion))
  }

  /** Lets go of this copy of an object that has enough of them elsewhere. Nothing if it is not this version any more. */
  async drop(id: Address, version: number): Promise<void> {
    const { storage } = this.drive.contents
    await this.#writing(async () => await storage.copies.drop(id, version))
  }

  async hold(owner: string, id: Address): Promise<void> {
    await this.drive.contents.storage.objects.hold(owner, id)
  }

  async release(owner: string, id: Address): Promise<void> {
    await this.drive.contents.storage.objects.release(owner, id)
  }

  async page(after: Address | undefined, limit: number): Promise<readonly CopyRow[]> {
    const rows = await this.drive.contents.storage.copies.page(after, limit)
    return rows.map(({ id, known }) => ({ id, known: this.#copyOf(id, known) as CopyRow['known'] }))
  }

  #copyOf(id: Address, known: KnownVersion): KnownCopy {
    if (known.tag !== 'object') return known
    const isProved = this.#options.isProved(this.drive, id, known.lsn)
    const copy = { tag: 'object', version: known.version, isProved } as const
    return known.isStriped === true ? { ...copy, isStriped: true } : copy
  }

  async #withOwners(id: Address, known: KnownCopy): Promise<KnownCopy> {
    const owners = known.tag === 'object' ? await this.drive.contents.storage.objects.holds.owners(id) : []
    return known.tag === 'object' && owners.length > 0 ? { ...known, owners } : known
  }

  /** A drive that fails in the middle of a write is a drive that does not take it; another one may. */
  async #writing<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      const { kind, message } = toCairnError(error)
      if (kind !== 'Internal' && kind !== 'NotFound' && kind !== 'Canceled') throw error
      throw new CairnError('StorageBusy', message, { code: 'write_failed', retryAfterMs: 1000, cause: error })
    }
  }
}
