import { isKind } from '@cairn/kernel'
import type { Disk, DiskEntry, DiskFile, DiskSpace, OpenOptions } from '@cairn/platform'
import type { Drive } from './drive.ts'

/** One directory on one drive; every call waits for a permit of the drive. */
export class DriveDirectory {
  readonly path: string
  readonly #disk: Disk
  readonly #drive: Drive

  constructor(disk: Disk, drive: Drive, path: string) {
    this.#disk = disk
    this.#drive = drive
    this.path = path
  }

  async open(name: string, mode: OpenOptions['mode']): Promise<DiskFile> {
    const open = async (): Promise<DiskFile> => await this.#disk.open(`${this.path}/${name}`, { mode })
    return await this.#drive.run('open', open, { late: closeLate })
  }

  async append(file: DiskFile, buffers: readonly Uint8Array[]): Promise<number> {
    return await this.#drive.run('write', async () => await file.append(buffers))
  }

  async read(file: DiskFile, position: number, into: Uint8Array): Promise<number> {
    return await this.#drive.run('read', async () => await file.read(position, into))
  }

  async sync(file: DiskFile): Promise<void> {
    await this.#drive.run('sync', async () => await file.sync())
  }

  async truncate(file: DiskFile, length: number): Promise<void> {
    await this.#drive.run('truncate', async () => await file.truncate(length))
  }

  async size(file: DiskFile): Promise<number> {
    return await this.#drive.run('size', async () => await file.size())
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#drive.run('rename', async () => await this.#disk.rename(`${this.path}/${from}`, `${this.path}/${to}`))
  }

  async unlink(name: string): Promise<void> {
    await this.#drive.run('unlink', async () => await this.#disk.unlink(`${this.path}/${name}`))
  }

  /**
   * Replaces a small file, or makes it: a power cut leaves the old one, the new one, or none, and what is synced is whole
   * before it has the name. The name itself is not synced, so this is for copies that can be made again.
   */
  async replace(
    name: string,
    pieces: Iterable<readonly Uint8Array[]> | AsyncIterable<readonly Uint8Array[]>,
  ): Promise<void> {
    const draft = `${name}.tmp`
    await this.unlinkIfThere(draft)
    const file = await this.open(draft, 'create')
    try {
      for await (const buffers of pieces) await this.append(file, buffers)
      await this.sync(file)
      await file.close()
      await this.rename(draft, name)
    } catch (error) {
      await Promise.allSettled([file.close()])
      await Promise.allSettled([this.unlink(draft)])
      throw error
    }
  }

  async unlinkIfThere(name: string): Promise<void> {
    try {
      await this.unlink(name)
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error
    }
  }

  /** Makes names that were added or removed durable. */
  async syncNames(): Promise<void> {
    await this.#drive.run('sync', async () => await this.#disk.syncDirectory(this.path))
  }

  async list(): Promise<DiskEntry[]> {
    return await this.#drive.run('list', async () => await this.#disk.list(this.path))
  }

  async space(): Promise<DiskSpace> {
    return await this.#drive.run('space', async () => await this.#disk.space(this.path))
  }
}

/** A file that was opened after its caller gave up is nobody's; whether closing it works no longer matters. */
function closeLate(file: DiskFile): void {
  file.close().catch(() => undefined)
}
