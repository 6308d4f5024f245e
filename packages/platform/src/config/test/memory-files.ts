import { CairnError } from '@cairn/kernel'
import type { Disk, DiskFile } from '../../disk/disk.ts'

/** Files in a map, as much of a disk as reading a configuration takes. Counts what is open. */
export class MemoryFiles implements Pick<Disk, 'open'> {
  readonly texts = new Map<string, string | Uint8Array>()
  openCount = 0

  async open(path: string): Promise<DiskFile> {
    const content = this.texts.get(path)
    if (content === undefined) throw new CairnError('NotFound', `There is no file ${path}.`)
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
    this.openCount += 1
    const close = async (): Promise<void> => {
      this.openCount -= 1
    }
    const refuse = (): never => {
      throw new Error('only reading is expected here')
    }
    return {
      path,
      size: async () => bytes.length,
      read: async (position, into) => {
        into.set(bytes.subarray(position, position + into.length))
        return Math.min(into.length, bytes.length - position)
      },
      append: refuse,
      sync: refuse,
      truncate: refuse,
      close,
      [Symbol.asyncDispose]: close,
    }
  }
}
