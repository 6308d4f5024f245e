/**
 * The segments' files, opened for reading when needed and kept open while that is cheap.
 *
 *     use ─▶ pin the segment ─▶ its file: open, or opened now ─▶ work ─▶ unpin
 *                                  │
 *     most recently used ──────────┴────────── least: closed beyond `openMax`, once it has no user
 *     drain: no new user, the last one out, closed         close: the same for all, and nothing is opened again
 *
 * Never true here: a file is closed while a task reads it; a file is opened after `close`; an opened file is left to the
 * garbage collector, which ends the process.
 */
import { CairnError, isKind, Waiters, waitIn } from '@cairn/kernel'
import type { DiskFile } from '@cairn/platform'
import { equalBytes } from '@cairn/wire'
import type { DriveDirectory } from '../drive/drive.ts'
import { type Crc32, encodeSegmentHeader, type SegmentHeader } from './format.ts'
import { pin, retire, unpin } from './pins-core.ts'
import { type Segment, segmentName } from './segment.ts'

/**
 * Makes a log segment and proves that it can be written: create → header → sync → sync of the directory → read back.
 * Nothing is acknowledged from it before all of that succeeded, so a file cut short here never held a record.
 */
export async function createLogSegment(
  directory: DriveDirectory,
  crc32: Crc32,
  header: SegmentHeader,
): Promise<DiskFile> {
  const name = segmentName(header.number)
  const file = await directory.open(name, 'create')
  try {
    const bytes = encodeSegmentHeader(crc32, header)
    await directory.append(file, [bytes])
    await directory.sync(file)
    await directory.syncNames()
    const back = new Uint8Array(bytes.length)
    await directory.read(file, 0, back)
    if (!equalBytes(back, bytes)) throw new CairnError('Integrity', 'A new segment does not read back as written.')
    return file
  } catch (error) {
    await Promise.allSettled([file.close()])
    // Left behind it would only be one more file that never held a record.
    await Promise.allSettled([directory.unlink(name)])
    throw error
  }
}

interface OpenFile {
  readonly file: Promise<DiskFile>
  users: number
  /** No longer in the map: its last user closes it. */
  isDropped: boolean
}

export class SegmentFiles {
  readonly #directory: DriveDirectory
  readonly #openMax: number
  /** In order of last use. */
  readonly #open = new Map<number, OpenFile>()
  readonly #quiet = new Waiters<undefined>()
  #users = 0
  /** Files that are out of the map and not closed yet. */
  #closing = 0
  #isClosed = false

  constructor(directory: DriveDirectory, openMax: number) {
    this.#directory = directory
    this.#openMax = openMax
  }

  /** Runs `work` on the segment's file. The segment is pinned before this returns to its caller. */
  async use<T>(segment: Segment, work: (file: DiskFile) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw journalClosed()
    if (!pin(segment.pins)) throw segmentGone(segment.number)
    const handle = this.#handle(segment.number)
    handle.users += 1
    this.#users += 1
    try {
      return await work(await handle.file)
    } catch (error) {
      // A file that could not be opened or read gets a fresh handle next time.
      if (!isKind(error, 'Canceled')) this.#drop(segment.number, handle)
      throw error
    } finally {
      handle.users -= 1
      this.#users -= 1
      unpin(segment.pins)
      this.#closeIfUnused(handle)
      this.#trim()
      this.#tellIfQuiet()
    }
  }

  /** Admits no new reader of the segment; resolves once the last has ended and its file is closed. */
  async drain(segment: Segment): Promise<void> {
    if (!retire(segment.pins)) await waitIn(segment.pins.drained)
    const handle = this.#open.get(segment.number)
    if (handle === undefined) return
    this.#open.delete(segment.number)
    await this.#close(handle)
  }

  /** Lets no new reader in, waits for those there are, and closes every file. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const [number, handle] of this.#open) this.#drop(number, handle)
    while (this.#users > 0 || this.#closing > 0) await waitIn(this.#quiet)
  }

  #handle(number: number): OpenFile {
    const known = this.#open.get(number)
    if (known !== undefined) {
      this.#open.delete(number)
      this.#open.set(number, known)
      return known
    }
    const opened: OpenFile = { file: this.#directory.open(segmentName(number), 'read'), users: 0, isDropped: false }
    this.#open.set(number, opened)
    return opened
  }

  #drop(number: number, handle: OpenFile): void {
    if (this.#open.get(number) === handle) this.#open.delete(number)
    handle.isDropped = true
    this.#closeIfUnused(handle)
  }

  /** Closes the oldest unused files beyond the bound. */
  #trim(): void {
    for (const [number, each] of this.#open) {
      if (this.#open.size <= this.#openMax) return
      if (each.users === 0) this.#drop(number, each)
    }
  }

  #closeIfUnused(handle: OpenFile): void {
    if (handle.isDropped && handle.users === 0) this.#close(handle).catch(() => undefined)
  }

  async #close(handle: OpenFile): Promise<void> {
    this.#closing += 1
    const [opened] = await Promise.allSettled([handle.file])
    if (opened.status === 'fulfilled') await Promise.allSettled([opened.value.close()])
    this.#closing -= 1
    this.#tellIfQuiet()
  }

  #tellIfQuiet(): void {
    if (this.#users === 0 && this.#closing === 0) this.#quiet.wakeAll(undefined)
  }
}

export function segmentGone(number: number): CairnError {
  return new CairnError('NotFound', `Segment ${number} is gone; what it held has moved or was deleted.`)
}

/** Another copy may be asked: it is this drive that takes no readers, not the caller who gave up. */
function journalClosed(): CairnError {
  return new CairnError('StorageBusy', 'The store is closed.', { retryAfterMs: 1_000 })
}
