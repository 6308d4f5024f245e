/** A machine whose drive stops answering when told to, and goes on when let. */
import type { Disk } from '@cairn/platform'
import type { VirtualPlatform } from '../machine.ts'
import { wrapDisk, wrapFile } from './wrapped-disk.ts'

export class Gate {
  #opening: PromiseWithResolvers<void> | undefined

  /** What is asked from now on waits. */
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
export function gated(platform: VirtualPlatform, gates: Gates): VirtualPlatform {
  return { ...platform, disk: gatedDisk(platform.disk, gates) }
}

function gatedDisk(disk: Disk, { reads, writes }: Gates): Disk {
  return wrapDisk(disk, {
    open: async (path, options) => {
      const file = await disk.open(path, options)
      return wrapFile(file, {
        append: async (buffers) => {
          await writes.pass()
          return await file.append(buffers)
        },
        read: async (position, into) => {
          await reads.pass()
          return await file.read(position, into)
        },
      })
    },
  })
}
