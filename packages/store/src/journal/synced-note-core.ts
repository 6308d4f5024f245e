/**
 * Up to where the log is known to be durable, written beside it.
 *
 *     synced.0  │ note │ note │ note │ …        appended to; when it is full the other one is begun anew
 *     synced.1  │ note │ note │                 ◀─ the newest, by place
 *
 *     group 4 synced ─▶ callers told ─▶ note 4 is written …… group 5 and 6 synced meanwhile …… ─▶ note 6 is written
 *
 * Nothing waits for a note and nothing syncs it, so after a power cut it may be old, torn or gone: it is then worth less,
 * never wrong. The file that holds the newest note is never cut: while the other one is begun, there is one to read.
 */
import { equalBytes } from '@cairn/wire'
import { type Crc32, getInteger, setInteger, viewOf } from './format.ts'

/** Everything of this segment before `offset` is durable, and `lsn` is that of the last record there. */
export interface SyncedNote {
  readonly store: Uint8Array
  /** The segment's own: a segment of the same number may come again, in a directory that was put back. */
  readonly salt: Uint8Array
  readonly segment: number
  readonly offset: number
  readonly lsn: number
}

export const NOTE_BYTES = 72
/** Notes a file takes before the other is begun: together they stay below two blocks of a file system. */
export const NOTES_PER_FILE = 56
/** What is looked at of a file that is longer than it can be. */
export const NOTE_FILE_BYTES_MAX = NOTE_BYTES * NOTES_PER_FILE

const MAGIC = new TextEncoder().encode('cairnsyn')
const FORMAT = 1
const FORMAT_AT = 64
const SUM_AT = NOTE_BYTES - 4

export function encodeNote(crc32: Crc32, note: SyncedNote): Uint8Array {
  const bytes = new Uint8Array(NOTE_BYTES)
  const view = viewOf(bytes)
  bytes.set(MAGIC)
  bytes.set(note.store.subarray(0, 16), 8)
  bytes.set(note.salt.subarray(0, 16), 24)
  setInteger(view, 40, note.segment)
  setInteger(view, 48, note.offset)
  setInteger(view, 56, note.lsn)
  view.setUint32(FORMAT_AT, FORMAT, true)
  view.setUint32(SUM_AT, crc32(bytes.subarray(0, SUM_AT)), true)
  return bytes
}

/** The notes in the file, as they stand; what is no note is passed over. */
export function notesIn(crc32: Crc32, file: Uint8Array): SyncedNote[] {
  const notes: SyncedNote[] = []
  for (let at = 0; at + NOTE_BYTES <= file.length; at += NOTE_BYTES) {
    const note = decodeNote(crc32, file.subarray(at, at + NOTE_BYTES))
    if (note !== undefined) notes.push(note)
  }
  return notes
}

/** Whether `b` says more than `a`: it is about a segment that is here and `a` is not, or it is further on. */
export function saysMore(isHere: (note: SyncedNote) => boolean, a: SyncedNote | undefined, b: SyncedNote): boolean {
  if (a === undefined) return true
  if (isHere(a) !== isHere(b)) return isHere(b)
  return b.segment > a.segment || (b.segment === a.segment && b.offset > a.offset)
}

function decodeNote(crc32: Crc32, bytes: Uint8Array): SyncedNote | undefined {
  const view = viewOf(bytes)
  if (!equalBytes(bytes.subarray(0, 8), MAGIC) || view.getUint32(FORMAT_AT, true) !== FORMAT) return undefined
  if (view.getUint32(SUM_AT, true) !== crc32(bytes.subarray(0, SUM_AT))) return undefined
  return {
    store: bytes.slice(8, 24),
    salt: bytes.slice(24, 40),
    segment: getInteger(view, 40),
    offset: getInteger(view, 48),
    lsn: getInteger(view, 56),
  }
}

export type NoteFile = 0 | 1

export interface NoteCore {
  /** The file that holds the newest note, if there is one. */
  newest: NoteFile | undefined
  /** How many notes were appended to it in this life; none yet: it is left as it was found. */
  appended: number
  /** Waits to be written: only the last that was offered. */
  next: SyncedNote | undefined
  isWriting: boolean
}

export interface NoteWrite {
  readonly note: SyncedNote
  readonly file: NoteFile
  /** The file is cut to nothing first. */
  readonly isFresh: boolean
}

export function createNotes(newest: NoteFile | undefined): NoteCore {
  return { newest, appended: 0, next: undefined, isWriting: false }
}

/** Something more is durable. An older one that was not written yet is forgotten. */
export function offer(core: NoteCore, note: SyncedNote): void {
  core.next = note
}

/** What to write now, if anything: one at a time. */
export function beginWrite(core: NoteCore): NoteWrite | undefined {
  const { next, newest, appended } = core
  if (core.isWriting || next === undefined) return undefined
  core.isWriting = true
  core.next = undefined
  const isFresh = newest === undefined || appended === 0 || appended >= NOTES_PER_FILE
  if (!isFresh) return { note: next, file: newest, isFresh }
  return { note: next, file: newest === 0 ? 1 : 0, isFresh }
}

export function wrote(core: NoteCore, { file, isFresh }: NoteWrite): void {
  core.isWriting = false
  core.newest = file
  core.appended = isFresh ? 1 : core.appended + 1
}

/** The file takes no more. What it held before counts still, so the next note goes to the other one. */
export function failed(core: NoteCore): void {
  core.isWriting = false
  core.appended = 0
}
