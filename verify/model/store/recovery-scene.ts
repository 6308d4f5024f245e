/**
 * A log that is written, synced and noted, ends at any moment, may rot, and is opened again.
 *
 *     writer ─▶ │ 1 │ 2 │ 3 │      one record a group; with overlap others are written while one is synced
 *     syncer ─▶ ────┘ told          noter ─▶ synced.0, synced.1, behind it
 *     end: killed (all that was written is there) or powerless (what was not synced is bad, notes may be lost),
 *          and one record may have gone bad that was good ─▶ recovery
 */
import {
  RECORD_HEADER_BYTES,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
} from '../../../packages/store/src/journal/format.ts'
import type { TailVerdict } from '../../../packages/store/src/journal/recovery-core.ts'
import type { NoteFile, SyncedNote } from '../../../packages/store/src/journal/synced-note-core.ts'
import { choose, type Model, step, type Task, wait } from '../model.ts'
import type { StoreCores } from './cores.ts'

export interface Scene {
  /** Records written in this life, one a group; another is durable and noted from the life before. */
  readonly groups: number
  readonly overlapsSync: boolean
  /** Notes that cannot be written; the file takes no more. */
  readonly noteFailures: number
  /** There is a note as well about another segment of this number, further on. */
  readonly hasForeignNote: boolean
}

interface Written {
  readonly lsn: number
  readonly syncedLsn: number
  isBad: boolean
}

interface Verdict extends TailVerdict {
  /** What the landed notes that were not lost say, whatever recovery made of them. */
  readonly notedLsn: number
}

const STORE = new Uint8Array(16).fill(1)
const HEADER: Omit<SegmentHeader, 'overlapsSync'> = {
  format: 2,
  role: 'log',
  store: STORE,
  salt: new Uint8Array(16).fill(2),
  number: 1,
  firstLsn: 1,
  previous: 0,
  previousEnd: 0,
}

function placeAfter(lsn: number): number {
  return SEGMENT_HEADER_BYTES + lsn * RECORD_HEADER_BYTES
}

function noteOf(lsn: number): SyncedNote {
  return { store: STORE, salt: HEADER.salt, segment: 1, offset: placeAfter(lsn), lsn }
}

export function recoveredLog(cores: StoreCores, name: string, scene: Scene): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const log: Written[] = [{ lsn: 1, syncedLsn: 0, isBad: false }]
    const done = { synced: 1, told: 1, hasEnded: false, failures: scene.noteFailures, lastFailed: false }
    const foreign = { ...noteOf(9), salt: new Uint8Array(16).fill(3) }
    const files: Record<NoteFile, { notes: SyncedNote[]; takesMore: boolean }> = {
      0: { notes: [noteOf(1)], takesMore: true },
      1: { notes: scene.hasForeignNote ? [foreign] : [], takesMore: true },
    }
    const landed = { lsn: 1 }
    const notes = cores.notes.createNotes(0)
    // As late in a life: one more goes into this file, then the other is begun.
    notes.appended = cores.notes.NOTES_PER_FILE - 1
    const found: { verdict: Verdict | undefined } = { verdict: undefined }
    const header = { ...HEADER, overlapsSync: scene.overlapsSync }
    const last = scene.groups + 1

    function* writer(): Task {
      for (let lsn = 2; lsn <= last; lsn += 1) {
        const mayWrite = (): boolean => scene.overlapsSync || done.synced === lsn - 1
        yield wait('begins to write a group', () => !done.hasEnded && mayWrite(), lsn)
        // What it says of the last sync is as old as its beginning.
        const syncedLsn = done.synced
        if (scene.overlapsSync) yield wait('the group is written', () => !done.hasEnded, { lsn, syncedLsn })
        log.push({ lsn, syncedLsn, isBad: false })
      }
    }

    function* syncer(): Task {
      while (done.synced < last) {
        yield wait('begins a sync', () => !done.hasEnded && log.length > done.synced)
        const upTo = log.length
        yield wait('the sync ends, the callers are told', () => !done.hasEnded, upTo)
        done.synced = upTo
        done.told = upTo
        cores.notes.offer(notes, noteOf(upTo))
      }
    }

    function* noter(): Task {
      for (;;) {
        yield wait('takes a note', () => !done.hasEnded && notes.next !== undefined)
        const write = cores.notes.beginWrite(notes)
        if (write === undefined) continue
        const file = files[write.file]
        if (write.isFresh) {
          file.notes = []
          file.takesMore = true
        }
        const how = yield choose('writes the note', done.failures > 0 ? ['it lands', 'it fails'] : ['it lands'], write)
        if (done.hasEnded) return
        done.lastFailed = how === 'it fails'
        if (done.lastFailed) done.failures -= 1
        if (done.lastFailed || !file.takesMore) {
          file.takesMore = false
          cores.notes.failed(notes)
        } else {
          file.notes.push(write.note)
          landed.lsn = Math.max(landed.lsn, write.note.lsn)
          cores.notes.wrote(notes, write)
        }
      }
    }

    function* end(): Task {
      const how = yield choose('ends', ['not at all', 'killed', 'powerless', 'powerless, notes lost'])
      if (how === 'not at all') return
      done.hasEnded = true
      if (how !== 'killed') for (const record of log) if (record.lsn > done.synced) record.isBad = true
      if (how === 'powerless, notes lost') {
        for (const file of [files[0], files[1]]) file.notes = []
        landed.lsn = 0
      }
      const rotten = yield choose('rots', ['nowhere', ...log.map(({ lsn }) => String(lsn))], how)
      for (const record of log) if (String(record.lsn) === rotten) record.isBad = true
      yield step('is opened again')
      const verdict = recover(cores, header, log, [...files[0].notes, ...files[1].notes])
      found.verdict = { ...verdict, notedLsn: landed.lsn }
    }

    return {
      state: { log, done, files, landed, notes, found },
      tasks: { writer, syncer, noter, end },
      daemons: ['writer', 'syncer', 'noter'],
      never: () => (found.verdict === undefined ? {} : faultsOf(log, done.told, found.verdict)),
      neverAtEnd: () => ({ 'note-behind': !done.hasEnded && !done.lastFailed && landed.lsn < done.told }),
      leaks: () => ({}),
    }
  }
  return { name, setup }
}

function recover(
  { notes, recovery }: StoreCores,
  header: SegmentHeader,
  log: readonly Written[],
  written: readonly SyncedNote[],
): TailVerdict {
  let note: SyncedNote | undefined
  for (const each of written) if (notes.saysMore((one) => recovery.isAbout(one, header), note, each)) note = each
  const known = recovery.furthestKnown(header, note, undefined)
  const from = Math.min(known.offset, placeAfter(log.length))
  const tail = recovery.createTail(from, known.lsn)
  for (const record of log) {
    const end = placeAfter(record.lsn)
    if (end <= from) continue
    if (record.isBad) recovery.sawBad(tail, end)
    else recovery.sawRecord(tail, record, end)
  }
  return recovery.judge(tail, known.offset)
}

function faultsOf(log: readonly Written[], toldLsn: number, verdict: Verdict): Record<string, boolean> {
  const isCut = ({ lsn }: Written): boolean => placeAfter(lsn) > verdict.end
  const inDamage = ({ lsn }: Written): boolean =>
    verdict.damage.some(({ from, to }) => from < placeAfter(lsn) && placeAfter(lsn) <= to)
  const told = log.filter(({ lsn }) => lsn <= toldLsn)
  const provenLsn = Math.max(verdict.notedLsn, ...log.filter((each) => !each.isBad).map(({ syncedLsn }) => syncedLsn))
  return {
    'known-record-cut': told.some((each) => each.lsn <= provenLsn && isCut(each)),
    'silent-cut': told.some(isCut) && verdict.cut === undefined,
    'damage-not-said': log.some((each) => each.isBad && !isCut(each) && !inDamage(each) && each.lsn > verdict.notedLsn),
    'false-alarm': verdict.damage.some(({ from, to }) =>
      log.every(({ lsn }) => placeAfter(lsn - 1) >= to || placeAfter(lsn) <= from || lsn > toldLsn),
    ),
  }
}
