import { CairnError, isKind, type Permit, type Runtime, Semaphore, type WaitOptions } from '@cairn/kernel'
import type { Crypto, Disk, DiskEntry, DiskFile, DiskSpace, OpenOptions } from '@cairn/platform'

/** What a journal needs of the machine; a `Platform` has it. */
export interface JournalMachine extends Runtime {
  readonly disk: Disk
  readonly crypto: Pick<Crypto, 'crc32'>
}

/** What a store with an index needs of the machine; a `Platform` has it. */
export type StoreMachine = JournalMachine

/** One directory on one drive; every call waits for a permit of the drive, for reading or for writing. */
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
    return await this.#drive.run('read', 'open', open, { late: closeLate })
  }

  async append(file: DiskFile, buffers: readonly Uint8Array[]): Promise<number> {
    return await this.#drive.run('write', 'write', async () => await file.append(buffers))
  }

  async read(file: DiskFile, position: number, into: Uint8Array): Promise<number> {
    return await this.#drive.run('read', 'read', async () => await file.read(position, into))
  }

  async sync(file: DiskFile): Promise<void> {
    await this.#drive.run('write', 'sync', async () => await file.sync())
  }

  async truncate(file: DiskFile, length: number): Promise<void> {
    await this.#drive.run('write', 'truncate', async () => await file.truncate(length))
  }

  async size(file: DiskFile): Promise<number> {
    return await this.#drive.run('read', 'size', async () => await file.size())
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#drive.run(
      'write',
      'rename',
      async () => await this.#disk.rename(`${this.path}/${from}`, `${this.path}/${to}`),
    )
  }

  async unlink(name: string): Promise<void> {
    await this.#drive.run('write', 'unlink', async () => await this.#disk.unlink(`${this.path}/${name}`))
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
    await this.#drive.run('write', 'sync', async () => await this.#disk.syncDirectory(this.path))
  }

  async list(): Promise<DiskEntry[]> {
    return await this.#drive.run('read', 'list', async () => await this.#disk.list(this.path))
  }

  async space(): Promise<DiskSpace> {
    return await this.#drive.run('read', 'space', async () => await this.#disk.space(this.path))
  }
}

/** Closes a file that was opened after its caller gave up: it has no owner, so a failure to close it is ignored. */
function closeLate(file: DiskFile): void {
  file.close().catch(() => undefined)
}

/** More operations at once do not make a drive faster, only each of them later. The two writes are one and its sync. */
const IN_FLIGHT_MAX = { read: 4, write: 2 } as const

type Lane = keyof typeof IN_FLIGHT_MAX

export interface DriveCallOptions<T> extends WaitOptions {
  /** Called with a result that came after the caller was told that the drive is stalled. */
  readonly late?: (value: T) => void
}

/**
 * The way to one drive: a few operations at a time, reads apart from writes, in the order they came. One that takes longer
 * than `timeoutMs` is given up on but not forgotten: the drive is stalled, and the operation keeps its permit, until it ends.
 */
export class Drive {
  readonly #runtime: Runtime
  readonly #timeoutMs: number
  readonly #permits = { read: new Semaphore(IN_FLIGHT_MAX.read), write: new Semaphore(IN_FLIGHT_MAX.write) }
  readonly #stalled = { read: 0, write: 0 }

  constructor(runtime: Runtime, timeoutMs: number) {
    this.#runtime = runtime
    this.#timeoutMs = timeoutMs
  }

  get isStalled(): boolean {
    return this.#stalled.read + this.#stalled.write > 0
  }

  /** Runs one operation. `StorageBusy` at once while every permit of its lane is held by an operation that hangs. */
  async run<T>(lane: Lane, operation: string, work: () => Promise<T>, options: DriveCallOptions<T> = {}): Promise<T> {
    if (this.#stalled[lane] >= IN_FLIGHT_MAX[lane]) throw stalled()
    const permit = await this.#permits[lane].acquire(options)
    return await this.#timed(lane, operation, work, permit, options)
  }

  async #timed<T>(
    lane: Lane,
    operation: string,
    work: () => Promise<T>,
    permit: Permit,
    { late }: DriveCallOptions<T>,
  ): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      let isLate = false
      const timer = this.#runtime.clock.timer(this.#timeoutMs, () => {
        isLate = true
        this.#stalled[lane] += 1
        this.#runtime.metrics.count('io_timeouts_total', { op: operation })
        this.#runtime.log.warn({ operation }, 'the drive does not answer')
        reject(stalled())
      })
      const ended = (): void => {
        timer.cancel()
        if (isLate) this.#stalled[lane] -= 1
        permit[Symbol.dispose]()
      }
      Promise.try(work).then(
        (value) => {
          ended()
          if (isLate) late?.(value)
          resolve(value)
        },
        (error: unknown) => {
          ended()
          reject(error instanceof Error ? error : new CairnError('Internal', String(error)))
        },
      )
    })
  }
}

function stalled(): CairnError {
  const detail = 'The drive does not answer; look at its health, or try again later.'
  return new CairnError('StorageBusy', detail, { code: 'drive_stalled', retryAfterMs: 5_000 })
}
