import { Waiters, waitIn } from '@cairn/kernel'
import type { DiskFile } from '@cairn/platform'
import type { DriveDirectory, JournalMachine } from '../drive/drive.ts'
import * as core from './synced-note-core.ts'

const NAMES: Readonly<Record<core.NoteFile, string>> = { 0: 'synced.0', 1: 'synced.1' }
const FILES: readonly core.NoteFile[] = [0, 1]

export interface FoundNotes {
  /** The one that says most of what is here, and the file it is in. */
  readonly best: { readonly note: core.SyncedNote; readonly file: core.NoteFile } | undefined
  /** The furthest of all, be its segment here or not. */
  readonly furthest: core.SyncedNote | undefined
}

/** What the notes in the directory say. One that cannot be read is as good as none: the log is recovered without it. */
export async function findNotes(
  machine: JournalMachine,
  directory: DriveDirectory,
  isHere: (note: core.SyncedNote) => boolean,
): Promise<FoundNotes> {
  let best: FoundNotes['best']
  let furthest: core.SyncedNote | undefined
  for (const file of FILES) {
    for (const note of await notesIn(machine, directory, NAMES[file])) {
      if (core.saysMore(isHere, best?.note, note)) best = { note, file }
      if (core.saysMore(() => true, furthest, note)) furthest = note
    }
  }
  return { best, furthest }
}

async function notesIn(
  machine: JournalMachine,
  directory: DriveDirectory,
  name: string,
): Promise<readonly core.SyncedNote[]> {
  try {
    const names = await directory.list()
    if (!names.some((entry) => entry.name === name)) return []
    await using file = await directory.open(name, 'read')
    const bytes = new Uint8Array(core.NOTE_FILE_BYTES_MAX)
    const count = await directory.read(file, 0, bytes)
    return core.notesIn(machine.crypto.crc32, bytes.subarray(0, count))
  } catch (error) {
    machine.log.warn({ error, name }, 'the note of what is durable cannot be read; the log is recovered without it')
    return []
  }
}

/** Writes down, behind the acknowledgements, up to where the log is durable. */
export class NoteWriter {
  readonly #machine: JournalMachine
  readonly #directory: DriveDirectory
  readonly #core: core.NoteCore
  readonly #idle = new Waiters<undefined>()
  #file: DiskFile | undefined
  #failures = 0
  #isFailing = false

  /** `directory` is on a drive for which nothing else waits: a note that hangs must not hold up a sync. */
  constructor(machine: JournalMachine, directory: DriveDirectory, newest: core.NoteFile | undefined) {
    this.#machine = machine
    this.#directory = directory
    this.#core = core.createNotes(newest)
  }

  /** How many notes could not be written. */
  get failures(): number {
    return this.#failures
  }

  /** Returns at once. */
  synced(note: core.SyncedNote): void {
    core.offer(this.#core, note)
    if (!this.#core.isWriting) this.#run().catch(() => undefined)
  }

  /** Ends when the last note that was offered has been written, or could not be. */
  async close(): Promise<void> {
    if (this.#core.isWriting) await waitIn(this.#idle)
    await Promise.allSettled([this.#file?.close()])
    this.#file = undefined
  }

  async #run(): Promise<void> {
    for (let write = core.beginWrite(this.#core); write !== undefined; write = core.beginWrite(this.#core)) {
      try {
        const bytes = core.encodeNote(this.#machine.crypto.crc32, write.note)
        const file = write.isFresh ? await this.#begin(NAMES[write.file]) : this.#file
        if (file !== undefined) await this.#directory.append(file, [bytes])
        core.wrote(this.#core, write)
        this.#isFailing = false
      } catch (error) {
        this.#failures += 1
        if (!this.#isFailing) this.#machine.log.warn({ error }, 'the note of what is durable was not written')
        this.#isFailing = true
        core.failed(this.#core)
      }
    }
    this.#idle.wakeAll(undefined)
  }

  async #begin(name: string): Promise<DiskFile> {
    await Promise.allSettled([this.#file?.close()])
    this.#file = undefined
    const file = await this.#directory.open(name, 'append')
    this.#file = file
    await this.#directory.truncate(file, 0)
    return file
  }
}
