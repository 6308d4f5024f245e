import { CairnError, isKind, waitIn } from '@cairn/kernel'
import type { DiskFile } from '@cairn/platform'
import type { DriveDirectory } from '../drive/directory.ts'
import { pin, retire, unpin } from './pins-core.ts'
import { type Segment, segmentName } from './segment.ts'

/** Open files beyond this many are closed again, least recently used first; each costs a descriptor. */
const OPEN_FILES_MAX = 256

interface OpenFile {
  readonly file: Promise<DiskFile>
  users: number
}

/** The segments' files, opened for reading when needed. Whoever reads a segment keeps it from being unlinked. */
export class SegmentFiles {
  readonly #directory: DriveDirectory
  /** In order of last use. */
  readonly #open = new Map<number, OpenFile>()

  constructor(directory: DriveDirectory) {
    this.#directory = directory
  }

  /** Runs `work` on the segment's file. The segment is pinned before this returns to its caller. */
  async use<T>(segment: Segment, work: (file: DiskFile) => Promise<T>): Promise<T> {
    if (!pin(segment.pins)) throw segmentGone(segment.number)
    const handle = this.#handle(segment.number)
    handle.users += 1
    try {
      return await work(await handle.file)
    } catch (error) {
      // A file that could not be opened or read gets a fresh handle next time.
      if (!isKind(error, 'Canceled')) this.#forget(segment.number, handle)
      throw error
    } finally {
      handle.users -= 1
      unpin(segment.pins)
      await this.#trim(handle)
    }
  }

  /** Waits until nobody reads the segment; no new reader is let in. */
  async drain(segment: Segment): Promise<void> {
    if (!retire(segment.pins)) await waitIn(segment.pins.drained)
    const handle = this.#open.get(segment.number)
    if (handle === undefined) return
    this.#open.delete(segment.number)
    await closeQuietly(handle)
  }

  async close(): Promise<void> {
    const handles = [...this.#open.values()]
    this.#open.clear()
    for (const handle of handles) await closeQuietly(handle)
  }

  #handle(number: number): OpenFile {
    const known = this.#open.get(number)
    if (known !== undefined) {
      this.#open.delete(number)
      this.#open.set(number, known)
      return known
    }
    const opened: OpenFile = { file: this.#directory.open(segmentName(number), 'read'), users: 0 }
    this.#open.set(number, opened)
    return opened
  }

  #forget(number: number, handle: OpenFile): void {
    if (this.#open.get(number) === handle) this.#open.delete(number)
  }

  /** Closes what nobody uses: this handle if it was replaced meanwhile, and the oldest beyond the bound. */
  async #trim(handle: OpenFile): Promise<void> {
    const idle: OpenFile[] = []
    if (handle.users === 0 && ![...this.#open.values()].includes(handle)) idle.push(handle)
    for (const [number, each] of this.#open) {
      if (this.#open.size <= OPEN_FILES_MAX) break
      if (each.users > 0) continue
      this.#open.delete(number)
      idle.push(each)
    }
    for (const each of idle) await closeQuietly(each)
  }
}

async function closeQuietly(handle: OpenFile): Promise<void> {
  const [opened] = await Promise.allSettled([handle.file])
  if (opened.status === 'fulfilled') await Promise.allSettled([opened.value.close()])
}

export function segmentGone(number: number): CairnError {
  return new CairnError('NotFound', `Segment ${number} is gone; what it held has moved or was deleted.`)
}
