import { Closeable, type Runtime } from '@cairn/kernel'
import {
  type Disk,
  type DiskEntry,
  type DiskFile,
  type DiskLock,
  type DiskSpace,
  diskFailure,
  locked,
  type OpenOptions,
} from './disk.ts'
import { type FileNode, FileTree } from './file-tree.ts'

/** A disk in memory, gone with the process: not one file is opened. Full at `capacityBytes`. */
export class MemoryDisk implements Disk {
  readonly #runtime: Runtime
  readonly #capacityBytes: number
  readonly #tree = new FileTree()
  readonly #locks = new Set<string>()

  constructor(runtime: Runtime, capacityBytes: number) {
    this.#runtime = runtime
    this.#capacityBytes = capacityBytes
  }

  async open(path: string, { mode }: OpenOptions): Promise<DiskFile> {
    return await Promise.try(() => {
      const node = this.#tree.open(path, mode)
      return new MemoryFile(this.#runtime, path, mode, node, this.#tree, this.#capacityBytes)
    })
  }

  async rename(from: string, to: string): Promise<void> {
    await Promise.try(() => this.#tree.rename(from, to))
  }

  async unlink(path: string): Promise<void> {
    await Promise.try(() => this.#tree.unlink(path))
  }

  async makeDirectory(path: string): Promise<void> {
    await Promise.try(() => this.#tree.makeDirectory(path))
  }

  async syncDirectory(path: string): Promise<void> {
    await Promise.try(() => this.#tree.directory(path))
  }

  async list(path: string): Promise<DiskEntry[]> {
    return await Promise.try(() => this.#tree.list(path))
  }

  async space(): Promise<DiskSpace> {
    const totalBytes = this.#capacityBytes
    return await Promise.resolve({ totalBytes, freeBytes: Math.max(0, totalBytes - this.#tree.usedBytes) })
  }

  async lock(path: string): Promise<DiskLock> {
    return await Promise.try(() => {
      this.#tree.open(path, 'append')
      return new MemoryLock(this.#runtime, path, this.#locks)
    })
  }
}

class MemoryFile extends Closeable implements DiskFile {
  readonly path: string
  readonly #mode: OpenOptions['mode']
  readonly #node: FileNode
  readonly #tree: FileTree
  readonly #capacityBytes: number

  constructor(
    runtime: Runtime,
    path: string,
    mode: OpenOptions['mode'],
    node: FileNode,
    tree: FileTree,
    capacityBytes: number,
  ) {
    super(runtime, `file ${path}`)
    this.path = path
    this.#mode = mode
    this.#node = node
    this.#tree = tree
    this.#capacityBytes = capacityBytes
  }

  async append(buffers: readonly Uint8Array[]): Promise<number> {
    return await this.#use('write', () => {
      const bytes = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
      if (this.#tree.usedBytes + bytes > this.#capacityBytes) throw diskFailure('ENOSPC', this.path)
      const offset = this.#node.bytes.length
      for (const buffer of buffers) this.#tree.write(this.#node, this.#node.bytes.length, buffer)
      return offset
    })
  }

  async read(position: number, into: Uint8Array): Promise<number> {
    return await this.#use('read', () => this.#node.bytes.read(position, into))
  }

  async sync(): Promise<void> {
    await this.#use('read', () => undefined)
  }

  async truncate(length: number): Promise<void> {
    await this.#use('write', () => this.#tree.resize(this.#node, Math.min(length, this.#node.bytes.length)))
  }

  async size(): Promise<number> {
    return await this.#use('read', () => this.#node.bytes.length)
  }

  protected override async release(): Promise<void> {
    await Promise.resolve()
  }

  async #use<T>(access: 'read' | 'write', work: () => T): Promise<T> {
    return await Promise.try(() => {
      if (this.closed || (access === 'write' && this.#mode === 'read')) throw diskFailure('EBADF', this.path)
      return work()
    })
  }
}

class MemoryLock extends Closeable implements DiskLock {
  readonly #locks: Set<string>
  readonly #path: string

  constructor(runtime: Runtime, path: string, locks: Set<string>) {
    if (locks.has(path)) throw locked()
    super(runtime, `lock ${path}`)
    locks.add(path)
    this.#locks = locks
    this.#path = path
  }

  protected override async release(): Promise<void> {
    this.#locks.delete(this.#path)
    await Promise.resolve()
  }
}
