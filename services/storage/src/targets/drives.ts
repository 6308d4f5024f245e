/** The drives of this node: opened at the start, looked after while it runs. */
import type { Platform } from '@cairn/platform'
import { type DriveFile, type DriveList, readDriveList, writeDriveList } from './drive-file.ts'
import type { LocalDrive } from './local-drive.ts'

/** How often it is written down that a drive is there; a drive that goes was last seen at most this long before. */
const SEEN_MS = 60_000

export interface DrivesOptions {
  /** Of the service: the list of drives is kept there. */
  readonly directory: string
  readonly drives: readonly LocalDrive[]
  readonly tombstoneKeepMs: number
  /** There are targets beside a drive that comes back late; without any, what is on it is all there is. */
  readonly hasOthers: boolean
}

export class Drives {
  readonly all: readonly LocalDrive[]
  readonly #platform: Platform
  readonly #options: DrivesOptions
  /** Absent where the only drive is the data directory, which needs no list. */
  #list: DriveList | undefined
  #listedAt = 0
  #looking: Promise<boolean> | undefined

  private constructor(platform: Platform, options: DrivesOptions) {
    this.#platform = platform
    this.#options = options
    this.all = options.drives
  }

  /** One drive, which is the service's own directory. */
  static async alone(platform: Platform, options: DrivesOptions): Promise<Drives> {
    const drives = new Drives(platform, options)
    for (const drive of drives.all) await drive.openAlone()
    return drives
  }

  static async open(platform: Platform, options: DrivesOptions): Promise<Drives> {
    const drives = new Drives(platform, options)
    const paths = drives.all.map(({ path }) => path)
    const list = await readDriveList(platform, options.directory, paths)
    // A node that was off saw nothing of its drives, and none of them missed anything: away is measured while it ran.
    for (const drive of drives.all) await drives.#openOne(drive, list, list.alive_at)
    await drives.#write(list)
    return drives
  }

  get open(): readonly LocalDrive[] {
    return this.all.filter(({ state }) => state.tag === 'open')
  }

  /** Whether a drive has been away for so long that it will come back empty. */
  isExpired(drive: LocalDrive): boolean {
    if (drive.state.tag === 'open') return false
    const seenAt = Object.values(this.#list?.drives ?? {}).find(({ uuid }) => uuid === drive.id)?.seen_at
    return seenAt !== undefined && this.#platform.clock.wall() - seenAt > this.#options.tombstoneKeepMs
  }

  /** What is on the drives cannot be believed any more: each is set aside and begins empty. */
  async beginEmpty(): Promise<void> {
    const list = this.#list
    if (list === undefined) return
    for (const drive of this.open) {
      await drive.fail('It begins empty.')
      await drive.open(list, () => true)
    }
  }

  /** Sees which drives have gone or come back; says whether any has. One look at a time. */
  async look(): Promise<boolean> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return await this.#looking
  }

  async #look(): Promise<boolean> {
    const list = this.#list
    if (list === undefined) return false
    let hasChanged = false
    for (const drive of this.all) {
      if (drive.state.tag === 'open') {
        if (await drive.isThere()) continue
        hasChanged = true
        await drive.fail('It is not at its path any more.')
      } else {
        await this.#openOne(drive, list, this.#platform.clock.wall())
        hasChanged ||= isOpen(drive)
      }
    }
    if (hasChanged || this.#platform.clock.now() - this.#listedAt >= SEEN_MS) await this.#write(list)
    return hasChanged
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.#looking])
    for (const drive of this.all) await drive.close()
  }

  async #openOne(drive: LocalDrive, list: DriveList, asOf: number): Promise<void> {
    const { tombstoneKeepMs, hasOthers } = this.#options
    const seenAt = new Map(Object.values(list.drives).map(({ uuid, seen_at: at }) => [uuid, at]))
    await drive.open(
      list,
      (uuid: DriveFile['uuid']) => hasOthers && asOf - (seenAt.get(uuid) ?? asOf) > tombstoneKeepMs,
    )
  }

  /** Every drive that is open is seen now; what is known of the others stays. */
  async #write(before: DriveList): Promise<void> {
    const now = this.#platform.clock.wall()
    const seen = this.open.map((drive) => [drive.path, { uuid: drive.id, seen_at: now }] as const)
    const list = { ...before, alive_at: now, drives: { ...before.drives, ...Object.fromEntries(seen) } }
    this.#list = list
    this.#listedAt = this.#platform.clock.now()
    try {
      await writeDriveList(this.#platform, this.#options.directory, list)
    } catch (error) {
      this.#platform.log.warn({ error }, 'the list of drives was not written down')
    }
  }
}

function isOpen({ state }: LocalDrive): boolean {
  return state.tag === 'open'
}
