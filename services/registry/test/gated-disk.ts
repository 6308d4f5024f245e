/** A drive that stops answering when told to, and goes on when let. */
import type { Disk, DiskFile } from '@cairn/platform'
import type { VirtualPlatform } from '../../../verify/virtual/machine.ts'

export class Gate {
  #opening: PromiseWithResolvers<void> | undefined

  shut(): void {
    this.#opening ??= Promise.withResolvers<void>()
  }

  open(): void {
    this.#opening?.resolve()
    this.#opening = undefined
  }

  async pass(): Promise<void> {
    await this.#opening?.promise
  }
}

export interface Gates {
  readonly reads: Gate
  readonly writes: Gate
}

export function gates(): Gates {
  return { reads: new Gate(), writes: new Gate() }
}

/** The platform with gates before the reads and the appends of its files. */
export function gated(platform: VirtualPlatform, { reads, writes }: Gates): VirtualPlatform {
  const { disk } = platform
  const gatedDisk: Disk = {
    open: async (path, options) => gatedFile(await disk.open(path, options), reads, writes),
    rename: async (from, to) => await disk.rename(from, to),
    unlink: async (path) => await disk.unlink(path),
    makeDirectory: async (path, permissions) => await disk.makeDirectory(path, permissions),
    syncDirectory: async (path) => await disk.syncDirectory(path),
    list: async (path) => await disk.list(path),
    space: async (path) => await disk.space(path),
    lock: async (path) => await disk.lock(path),
  }
  return { ...platform, disk: gatedDisk }
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
