/**
 * One drive of this node, from the moment it is there to the moment it is not, and again.
 *
 *     absent ─▶ open ── its drive.json is gone, or another's ──▶ failed ── the same drive is back ──▶ open
 *                                                                  └─ away longer than deletes are kept ─▶ open, empty
 *
 * Files of a directory that was deleted can still be written while they are open, and all of it would be lost: so
 * whether the drive is still there is looked at again and again, not only when something fails.
 */
import { CairnError, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { DriveStore, type DriveStoreOptions } from '@cairn/store'
import type { Address } from '@cairn/wire'
import { ChunkReader, ObjectReader } from '../objects/object-reader.ts'
import { type DriveFile, type DriveList, identifyDrive, readDriveFile } from './drive-file.ts'

export interface OpenDrive {
  readonly tag: 'open'
  readonly storage: DriveStore
  readonly chunks: ChunkReader
  /** Objects as they are on this drive. */
  readonly reader: ObjectReader
}

export type DriveState = OpenDrive | { readonly tag: 'failed'; readonly why: string }

export interface LocalDriveOptions {
  readonly path: string
  /** What fails together, if it is not the device. */
  readonly domain: string | undefined
  readonly weight: number
  readonly storage: Omit<DriveStoreOptions, 'path'>
  /** A chunk on this drive turned out damaged. */
  readonly onDamaged: (chunk: Address, drive: LocalDrive) => void
}

export class LocalDrive {
  readonly path: string
  readonly weight: number
  readonly #platform: Platform
  readonly #options: LocalDriveOptions
  #file: DriveFile | undefined
  #state: DriveState = { tag: 'failed', why: 'It was not opened yet.' }
  #domain: string
  #emptied = 0

  constructor(platform: Platform, options: LocalDriveOptions) {
    this.#platform = platform
    this.#options = options
    this.path = options.path
    this.weight = options.weight
    this.#domain = options.domain ?? options.path
  }

  /** Its uuid; its path before it was ever seen. */
  get id(): string {
    return this.#file?.uuid ?? this.path
  }

  get domain(): string {
    return this.#domain
  }

  get state(): DriveState {
    return this.#state
  }

  /** How often it came back too late to be believed. */
  get emptied(): number {
    return this.#emptied
  }

  /** What is on it. `StorageBusy` `drive_failed` while it is not there. */
  get contents(): OpenDrive {
    if (this.#state.tag === 'open') return this.#state
    const detail = `The drive at ${this.path} has failed: ${this.#state.why}`
    throw new CairnError('StorageBusy', detail, { code: 'drive_failed', retryAfterMs: 5000 })
  }

  /** Opens the store at its path as it is: for a node whose only drive is its data directory. */
  async openAlone(): Promise<void> {
    this.#state = await this.#openStore()
  }

  /** Opens the drive if it is the one that was here before, or the first here; says why not otherwise. */
  async open(list: DriveList, isAwayTooLong: (uuid: string) => boolean): Promise<void> {
    try {
      const file = await identifyDrive(this.#platform, this.path, list)
      const { device } = await this.#platform.disk.space(this.path)
      if (isAwayTooLong(file.uuid)) await this.#setAside()
      this.#file = file
      this.#domain = this.#options.domain ?? device ?? this.path
      this.#state = await this.#openStore()
    } catch (error) {
      const { message } = toCairnError(error)
      const known = list.drives[this.path]
      if (this.#file === undefined && known !== undefined) this.#file = { uuid: known.uuid, store: list.store }
      if (this.#state.tag !== 'failed' || this.#state.why !== message)
        this.#platform.log.error({ drive: this.path, error }, 'a drive cannot be used')
      this.#state = { tag: 'failed', why: message }
    }
  }

  /** Whether the drive that was opened is still the one at its path. */
  async isThere(): Promise<boolean> {
    try {
      const found = await readDriveFile(this.#platform, this.path)
      return found?.uuid === this.#file?.uuid
    } catch {
      return false
    }
  }

  /** Nothing is asked of it any more; what was under way fails by itself. */
  async fail(why: string): Promise<void> {
    const before = this.#state
    this.#state = { tag: 'failed', why }
    if (before.tag !== 'open') return
    this.#platform.log.error({ drive: this.path, why }, 'a drive has failed')
    await Promise.allSettled([before.storage.close()])
  }

  async close(): Promise<void> {
    const before = this.#state
    this.#state = { tag: 'failed', why: 'The service has stopped.' }
    if (before.tag === 'open') await before.storage.close()
  }

  async #openStore(): Promise<OpenDrive> {
    const onLearnt: DriveStoreOptions['onLearnt'] = (how) =>
      this.#platform.metrics.count('index_segments_total', { how })
    const storage = await DriveStore.open(this.#platform, { ...this.#options.storage, path: this.path, onLearnt })
    const onDamaged = (chunk: Address): void => this.#options.onDamaged(chunk, this)
    const chunks = new ChunkReader(this.#platform, storage.chunks, onDamaged)
    return { tag: 'open', storage, chunks, reader: new ObjectReader(storage.objects, chunks) }
  }

  /** Deletes it has missed are forgotten by now, so nothing on it can be believed. It is kept for whoever looks. */
  async #setAside(): Promise<void> {
    const { disk, clock, log } = this.#platform
    const kept = `journal.away-${Math.floor(clock.wall())}`
    await disk.rename(`${this.path}/journal`, `${this.path}/${kept}`)
    await disk.syncDirectory(this.path)
    this.#emptied += 1
    log.warn({ drive: this.path, kept }, 'a drive was away for longer than deletes are remembered; it begins empty')
  }
}
