/** The drive as one life of a machine sees it: the platform's `Disk`, with latency, faults and a crash at any call. */
import { type CairnError, Closeable, type Runtime } from '@cairn/kernel'
import type { Disk, DiskEntry, DiskFile, DiskSpace, OpenOptions } from '@cairn/platform'
import {
  type DiskLock,
  diskError,
  diskFailure,
  type FileNode,
  fileFailed,
  locked,
  shortWrite,
} from '@cairn/platform/testing'
import type { Fault, Faults, FaultyOperation } from '../faults.ts'
import type { Life } from '../life.ts'
import type { Drive } from './drive.ts'

type DiskOperation = Exclude<FaultyOperation, 'open-index' | 'commit'>

/** What a call usually takes; a real one varies around it, and so does this. */
const USUAL_MS: Readonly<Record<DiskOperation, number>> = {
  open: 0.1,
  append: 0.1,
  read: 0.1,
  sync: 2,
  truncate: 0.1,
  size: 0.01,
  close: 0.01,
  rename: 0.1,
  unlink: 0.1,
  'make-directory': 0.1,
  'sync-directory': 2,
  list: 0.1,
  space: 0.01,
  lock: 0.1,
}

const SECTOR_BYTES = 512

export interface Mount {
  readonly life: Life
  readonly drive: Drive
  readonly faults: Faults
  readonly runtime: Runtime
}

export class VirtualDisk implements Disk {
  readonly #mount: Mount

  constructor(mount: Mount) {
    this.#mount = mount
  }

  async open(path: string, { mode }: OpenOptions): Promise<DiskFile> {
    const { drive } = this.#mount
    let node: FileNode | undefined
    const begin = (): void => {
      node = drive.open(path, mode)
    }
    return await call(this.#mount, 'open', path, begin, () => {
      if (node === undefined) throw diskFailure('EIO', path)
      return new VirtualFile(this.#mount, path, mode, node)
    })
  }

  async rename(from: string, to: string): Promise<void> {
    await call(this.#mount, 'rename', `${from} ${to}`, () => this.#mount.drive.rename(from, to), nothing)
  }

  async unlink(path: string): Promise<void> {
    await call(this.#mount, 'unlink', path, () => this.#mount.drive.unlink(path), nothing)
  }

  async makeDirectory(path: string): Promise<void> {
    await call(this.#mount, 'make-directory', path, () => this.#mount.drive.makeDirectory(path), nothing)
  }

  async syncDirectory(path: string): Promise<void> {
    const { drive } = this.#mount
    const upTo = drive.recorded
    await call(this.#mount, 'sync-directory', path, nothing, () => drive.synced(drive.directory(path), upTo))
  }

  async list(path: string): Promise<DiskEntry[]> {
    return await call(this.#mount, 'list', path, nothing, () => this.#mount.drive.list(path))
  }

  async space(path: string): Promise<DiskSpace> {
    return await call(this.#mount, 'space', path, nothing, () => this.#mount.drive.space)
  }

  async lock(path: string): Promise<DiskLock> {
    const { drive, runtime } = this.#mount
    return await call(this.#mount, 'lock', path, nothing, () => {
      if (drive.locks.has(path)) throw locked()
      drive.open(path, 'append')
      drive.locks.add(path)
      return new VirtualLock(runtime, path, drive)
    })
  }
}

class VirtualFile extends Closeable implements DiskFile {
  readonly path: string
  readonly #mount: Mount
  readonly #mode: OpenOptions['mode']
  readonly #node: FileNode
  #failure: CairnError | undefined

  constructor(mount: Mount, path: string, mode: OpenOptions['mode'], node: FileNode) {
    super(mount.runtime, `file ${path}`)
    this.#mount = mount
    this.path = path
    this.#mode = mode
    this.#node = node
  }

  async append(buffers: readonly Uint8Array[]): Promise<number> {
    const bytes = Buffer.concat(buffers)
    const offset = this.#node.bytes.length
    await this.#change('append', `${this.path} ${bytes.length} bytes`, [bytes], (fault) => {
      const { drive } = this.#mount
      const room = drive.space.freeBytes
      const written = fault === undefined ? Math.min(bytes.length, room) : this.#part(fault, bytes.length)
      if (fault === 'bit-flip') flipBit(bytes, this.#mount.life.chance.next())
      if (fault === 'torn-write') tear(bytes, this.#mount.life.chance.next())
      const failure = this.#failureOf(
        fault,
        written < bytes.length ? [written, bytes.length, room - written] : undefined,
      )
      if (failure === undefined && written > 0) return drive.beginWrite(this.#node, offset, bytes)
      if (failure === undefined) return nothing
      if (written > 0) drive.write(this.#node, offset, bytes.subarray(0, written))
      throw failure
    })
    return offset
  }

  async read(position: number, into: Uint8Array): Promise<number> {
    const detail = `${this.path} ${into.length} bytes at ${position}`
    return await call(this.#mount, 'read', detail, nothing, (fault) => {
      this.#checkOpen('read')
      const count = this.#node.bytes.read(position, into)
      if (fault === 'bit-flip') flipBit(into.subarray(0, count), this.#mount.life.chance.next())
      return count
    })
  }

  async sync(): Promise<void> {
    const { drive } = this.#mount
    const upTo = drive.covered(this.#node)
    await this.#change('sync', this.path, [], (fault) => {
      if (fault === undefined) return () => drive.synced(this.#node, upTo)
      drive.syncFailed(this.#node, upTo)
      throw failureOf(fault, this.path)
    })
  }

  async truncate(length: number): Promise<void> {
    await this.#change('truncate', `${this.path} ${length}`, [], (fault) => {
      if (fault !== undefined) throw failureOf(fault, this.path)
      this.#mount.drive.resize(this.#node, Math.min(length, this.#node.bytes.length))
    })
  }

  async size(): Promise<number> {
    return await call(this.#mount, 'size', this.path, nothing, () => {
      this.#checkOpen('read')
      return this.#node.bytes.length
    })
  }

  protected override async release(): Promise<void> {
    await call(this.#mount, 'close', this.path, nothing, nothing)
  }

  /** A change of the file, with its fault if it has one; the first that fails is the last that is tried. */
  async #change(
    operation: 'append' | 'sync' | 'truncate',
    detail: string,
    data: readonly Uint8Array[],
    begin: (fault: Struck) => (() => void) | void,
  ): Promise<void> {
    if (this.#failure !== undefined) throw fileFailed(this.#failure)
    const { life, faults } = this.#mount
    let end: (() => void) | void
    try {
      await life.call({
        name: `disk.${operation}`,
        detail,
        data,
        latencyMs: life.latency(USUAL_MS[operation]) * faults.slowness,
        begin: () => {
          this.#checkOpen(operation === 'sync' ? 'read' : 'write')
          end = begin(faults.strike(operation, this.path, life.chance))
        },
        end: () => end?.(),
      })
    } catch (error) {
      this.#failure ??= diskError(error)
      throw this.#failure
    }
  }

  /** The error of an append with this fault, or of one that stopped in the middle. */
  #failureOf(fault: Struck, short: Parameters<typeof shortWrite> | undefined): CairnError | undefined {
    if (fault === 'io-error' || fault === 'torn-write') return diskFailure('EIO', this.path)
    if (fault === 'no-space') return diskFailure('ENOSPC', this.path)
    return short === undefined ? undefined : shortWrite(...short)
  }

  /** How much of a failing append reaches the disk. */
  #part(fault: Struck, length: number): number {
    switch (fault) {
      case 'no-space':
        return 0
      case 'io-error':
      case 'short-write':
        return Math.floor(this.#mount.life.chance.next() * length)
      default:
        return length
    }
  }

  #checkOpen(access: 'read' | 'write'): void {
    if (this.closed || (access === 'write' && this.#mode === 'read')) throw diskFailure('EBADF', this.path)
  }
}

class VirtualLock extends Closeable implements DiskLock {
  readonly #path: string
  readonly #drive: Drive

  constructor(runtime: Runtime, path: string, drive: Drive) {
    super(runtime, `lock ${path}`)
    this.#path = path
    this.#drive = drive
  }

  protected override async release(): Promise<void> {
    this.#drive.locks.delete(this.#path)
    await Promise.resolve()
  }
}

type Struck = ReturnType<Faults['strike']>

/** One call to the drive that is not a change of a file's bytes. A planned or random fault ends it without effect. */
async function call<T>(
  { life, faults }: Mount,
  operation: DiskOperation,
  detail: string,
  begin: () => void,
  end: (fault: Struck) => T,
): Promise<T> {
  let fault: Struck
  return await life.call({
    name: `disk.${operation}`,
    detail,
    latencyMs: life.latency(USUAL_MS[operation]) * faults.slowness,
    begin: () => {
      fault = faults.strike(operation, detail, life.chance)
      if (fault === 'io-error' || fault === 'no-space') throw failureOf(fault, detail)
      begin()
    },
    end: () => end(fault),
  })
}

/** The error of the system that this fault is. */
function failureOf(fault: Fault, detail: string): CairnError {
  return diskFailure(fault === 'no-space' ? 'ENOSPC' : 'EIO', detail)
}

function flipBit(bytes: Uint8Array, draw: number): void {
  const bit = Math.floor(draw * bytes.length * 8)
  const byte = bytes[bit >> 3]
  if (byte !== undefined) bytes[bit >> 3] = byte ^ (1 << (bit & 7))
}

/** Some sectors never arrive: what follows them does, so that only the sums can tell. */
function tear(bytes: Uint8Array, draw: number): void {
  const from = Math.floor(draw * bytes.length)
  bytes.fill(0, from, from - (from % SECTOR_BYTES) + SECTOR_BYTES)
}

function nothing(): void {
  // Neither to begin nor to end.
}
