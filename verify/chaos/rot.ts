/** Rot at the end of a log: a bit flips in one of the groups that were written last, which no later record vouches for. */
import type { Random } from '@cairn/kernel'
import { systemCrypto } from '@cairn/platform'
import type { DriveStore } from '@cairn/store'
import {
  decodeSegmentHeader,
  type RecordHeader,
  RecordSums,
  recordBytes,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
} from '../../packages/store/src/journal/format.ts'
import { isAbout } from '../../packages/store/src/journal/recovery-core.ts'
import { notesIn } from '../../packages/store/src/journal/synced-note-core.ts'
import type { VirtualMachine } from '../virtual/machine.ts'

const crc32: typeof systemCrypto.crc32 = (bytes, before) => systemCrypto.crc32(bytes, before)

/** The last two acknowledged, and the one that was under way. */
const GROUPS = 3

export interface Rot {
  readonly segment: number
  readonly lsn: number
  /** The note says that it was durable. */
  readonly isNoted: boolean
}

/** Flips a bit in one of the last groups of the newest log segment; `undefined` if there is no record. */
export function rotLastGroups(machine: VirtualMachine, random: Random): Rot | undefined {
  const path = machine.drive
    .files()
    .filter((file) => file.endsWith('.seg'))
    .sort()
    .at(-1)
  if (path === undefined) return undefined
  const bytes = machine.drive.content(path)
  const header = decodeSegmentHeader(crc32, bytes)
  if (header === undefined) return undefined
  const records = recordsIn(bytes, new RecordSums(crc32, header.salt))
  const groups = [...new Set(records.map(({ record }) => record.syncedLsn))].sort((a, b) => b - a).slice(0, GROUPS)
  const last = records.filter(({ record }) => groups.includes(record.syncedLsn))
  const victim = last[Math.floor(random.next() * last.length)]
  if (victim === undefined) return undefined
  const { record, offset } = victim
  const end = offset + recordBytes(record.length)
  // The padding belongs to no sum.
  machine.drive.damage(path, offset * 8 + Math.floor(random.next() * (end - offset - 8) * 8))
  return { segment: header.number, lsn: record.lsn, isNoted: end <= notedOffset(machine, path, header) }
}

function recordsIn(bytes: Uint8Array, sums: RecordSums): { readonly record: RecordHeader; readonly offset: number }[] {
  const records: { readonly record: RecordHeader; readonly offset: number }[] = []
  for (let offset = SEGMENT_HEADER_BYTES; ; ) {
    const record = sums.decode(bytes, offset, offset)
    if (record === undefined || offset + recordBytes(record.length) > bytes.length) return records
    records.push({ record, offset })
    offset += recordBytes(record.length)
  }
}

function notedOffset(machine: VirtualMachine, segment: string, header: SegmentHeader): number {
  const directory = segment.slice(0, segment.lastIndexOf('/'))
  const notes = ['synced.0', 'synced.1'].flatMap((name) =>
    notesIn(crc32, machine.drive.content(`${directory}/${name}`)),
  )
  return Math.max(0, ...notes.filter((note) => isAbout(note, header)).map(({ offset }) => offset))
}

/** Throws if the store does not say what the rot took: by name below the note, with LSNs above it. */
export function checkRotSaid(storage: DriveStore, rot: Rot): void {
  const { cut, damagedSegments } = storage.facts()
  const isNamed = damagedSegments.includes(rot.segment)
  const isCut = cut?.segment === rot.segment && cut.firstLsn <= rot.lsn
  if (rot.isNoted && !isNamed) throw new Error(`LSN ${rot.lsn} was noted as durable, is damaged, and is not named.`)
  if (!isNamed && !isCut) throw new Error(`LSN ${rot.lsn} is damaged and neither named nor in a cut that is reported.`)
}
