/** A machine whose drive stops answering when told to, and goes on when let. */
import type { Disk, DiskFile, KvOpener } from '@cairn/platform'
import type { VirtualPlatform } from '../../../verify/virtual/machine.ts'

export class Gate {
  #opened = Promise.withResolvers<void>()
  #isShut = false

  /** What is asked from now on waits. */
  shut(): void {
    this.#isShut = true
    this.#opened = Promise.withResolvers()
  }

  open(): void {
    this.#isShut = false
    this.#opened.resolve()
  }

  async pass(): Promise<void> {
    if (this.#isShut) await this.#opened.promise
  }
}

export interface Gates {
  readonly reads: Gate
  readonly writes: Gate
  /** Of the index. */
  readonly commits: Gate
}

export function gates(): Gates {
  return { reads: new Gate(), writes: new Gate(), commits: new Gate() }
}

/** The platform with gates before the reads and the appends of its files, and the commits of its indexes. */
export function gated(platform: VirtualPlatform, { reads, writes, commits }: Gates): VirtualPlatform {
  const { disk } = platform
  const gatedDisk: Disk = {
    open: async (path, options) => gatedFile(await disk.open(path, options), reads, writes),
    rename: async (from, to) => await disk.rename(from, to),
    unlink: async (path) => await disk.unlink(path),
    makeDirectory: async (path) => await disk.makeDirectory(path),
    syncDirectory: async (path) => await disk.syncDirectory(path),
    list: async (path) => await disk.list(path),
    space: async (path) => await disk.space(path),
    lock: async (path) => await disk.lock(path),
  }
  return { ...platform, disk: gatedDisk, kv: gatedKv(platform.kv, commits) }
}

function gatedKv(kv: KvOpener, commits: Gate): KvOpener {
  return {
    open: async (path, options) => {
      const opened = await kv.open(path, options)
      return {
        get: (key) => opened.get(key),
        range: (range) => opened.range(range),
        commit: async (operations) => {
          await commits.pass()
          await opened.commit(operations)
        },
        close: async () => await opened.close(),
        [Symbol.asyncDispose]: async () => await opened.close(),
      }
    },
  }
}

function gatedFile(file: DiskFile, reads: Gate, writes: Gate): DiskFile {
  return {
    path: file.path,
    append: async (buffers) => {
      await writes.pass()
      return await file.append(buffers)
    },
    read: async (position, into) => {
      await reads.pass()
      return await file.read(position, into)
    },
    sync: async () => await file.sync(),
    truncate: async (length) => await file.truncate(length),
    size: async () => await file.size(),
    close: async () => await file.close(),
    [Symbol.asyncDispose]: async () => await file[Symbol.asyncDispose](),
  }
}
