/**
 * What of a segment counts when it is opened again.
 *
 *     write and sync in turn (format 1, and format 2 without the flag):
 *
 *     │ synced │ synced │ synced │ group under way when the power went │
 *     ······ known durable ▲      ok   ok   ✗   ok                       ✗: cut here, and reported
 *     │ synced │ ✗ │ synced │ …                                          ✗: damage. Kept, reported, never cut
 *
 *     writes that overlap syncs (format 2, flag in the header):
 *
 *     │ synced │ group 7: synced │ group 8: written while 7 was synced │
 *     ········ known durable ▲ ·   its records say "6 was durable": 7 was acknowledged, and only the note knows it
 *
 * A record carries the LSN that was durable when it was written. So a bad place with a later record that knows of
 * something durable past the last good LSN before it had itself been durable: that is damage, in either kind of segment.
 * So is a bad place below what is known to be durable: by the note, by whose views were durable, or by the header of the
 * next segment. The last epoch has no later record, and with overlap the last two have none that knows of them: of these
 * the note alone can tell rot from what was never synced. It is written behind the acknowledgement and may be a little
 * old, so what is cut above it may have been acknowledged, and each cut is reported.
 */
import { equalBytes } from '@cairn/wire'
import { RECORD_HEADER_BYTES, SEGMENT_HEADER_BYTES, type SegmentHeader } from './format.ts'
import type { SyncedNote } from './synced-note-core.ts'

export interface Gap {
  readonly from: number
  readonly to: number
}

interface Suspect {
  readonly from: number
  to: number
  /** LSN of the last good record before it. */
  readonly after: number
}

export interface Tail {
  /** Where the scan stands. */
  end: number
  lastLsn: number
  /** The highest LSN any sound header of the segment has, counted or not. */
  highestLsn: number
  syncedLsn: number
  readonly suspects: Suspect[]
}

/** What was taken off the end of the log. It was not known to be durable, which is not to say that it was not. */
export interface Cut extends Gap {
  readonly firstLsn: number
  /** Of the records in it whose headers can be read; one less than the first if there is none. */
  readonly lastLsn: number
}

export interface TailVerdict {
  /** The segment counts up to here; the rest is cut. */
  readonly end: number
  readonly lastLsn: number
  readonly damage: readonly Gap[]
  readonly cut: Cut | undefined
}

/** `lastLsn` is the LSN before the first record that will be seen. */
export function createTail(from: number, lastLsn: number): Tail {
  return { end: from, lastLsn, highestLsn: lastLsn, syncedLsn: lastLsn, suspects: [] }
}

/** A sound record from `tail.end` to `next`. False if it is out of order and therefore none of this log. */
export function sawRecord(tail: Tail, record: { lsn: number; syncedLsn: number }, next: number): boolean {
  if (record.lsn <= tail.lastLsn) {
    sawBad(tail, next)
    return false
  }
  tail.lastLsn = record.lsn
  tail.highestLsn = Math.max(tail.highestLsn, record.lsn)
  tail.syncedLsn = Math.max(tail.syncedLsn, record.syncedLsn)
  tail.end = next
  return true
}

/** Nothing sound from `tail.end` to `next`; with `lsn` if there is a sound header with a payload that is not. */
export function sawBad(tail: Tail, next: number, lsn = 0): void {
  const last = tail.suspects.at(-1)
  if (last !== undefined && last.to === tail.end) last.to = next
  else tail.suspects.push({ from: tail.end, to: next, after: tail.lastLsn })
  tail.highestLsn = Math.max(tail.highestLsn, lsn)
  tail.end = next
}

/** Below `durableEnd` everything was durable, by whatever is known of it. */
export function judge(tail: Tail, durableEnd: number): TailVerdict {
  const damage: Gap[] = []
  for (const { from, to, after } of tail.suspects) {
    if (from >= durableEnd && tail.syncedLsn <= after) {
      const cut = { from, to: tail.end, firstLsn: after + 1, lastLsn: Math.max(after, tail.highestLsn) }
      return { end: from, lastLsn: after, damage, cut }
    }
    damage.push({ from, to })
  }
  if (tail.end < durableEnd) damage.push({ from: tail.end, to: durableEnd })
  return { end: tail.end, lastLsn: tail.lastLsn, damage, cut: undefined }
}

/** A place in a segment below which everything was durable, and the LSN of the last record there. */
export interface DurablePoint {
  readonly offset: number
  readonly lsn: number
}

/** The furthest that is known of this segment. A note about another store, or another segment of that number, is none. */
export function furthestKnown(
  header: SegmentHeader,
  note: SyncedNote | undefined,
  watermark: (DurablePoint & { readonly segment: number }) | undefined,
): DurablePoint {
  let known: DurablePoint = { offset: SEGMENT_HEADER_BYTES, lsn: header.firstLsn - 1 }
  for (const each of [
    watermark?.segment === header.number ? watermark : undefined,
    isAbout(note, header) ? note : undefined,
  ])
    if (each !== undefined && each.offset > known.offset) known = { offset: each.offset, lsn: each.lsn }
  return known
}

/** Whether the note is about the segment with this header, and no other of its number. */
export function isAbout(note: SyncedNote | undefined, { number, store, salt }: SegmentHeader): boolean {
  if (note === undefined) return false
  return note.segment === number && equalBytes(note.store, store) && equalBytes(note.salt, salt)
}

export interface FoundSegment {
  readonly number: number
  readonly size: number
  readonly header: SegmentHeader | undefined
}

export interface Inventory {
  readonly sound: readonly (FoundSegment & { readonly header: SegmentHeader })[]
  /** Creation was cut short: there never was a record in them. */
  readonly unborn: readonly FoundSegment[]
  /** The header is damaged, or it is another store's; nothing in them can be told from noise. */
  readonly unreadable: readonly FoundSegment[]
  readonly store: Uint8Array | undefined
  /** The newest log segment, which goes on taking records if it is sound. */
  readonly active: (FoundSegment & { readonly header: SegmentHeader }) | undefined
  /** An LSN that no record in the directory has or had. */
  readonly freshLsn: number
}

/** Sorts the files of a journal's directory by what they are. */
export function takeInventory(found: readonly FoundSegment[]): Inventory {
  const sound: (FoundSegment & { readonly header: SegmentHeader })[] = []
  const unborn: FoundSegment[] = []
  const unreadable: FoundSegment[] = []
  let store: Uint8Array | undefined
  for (const segment of found) {
    const { header } = segment
    if (header === undefined) {
      // Nothing is appended before the header is durable, so a file this short never held a record.
      if (segment.size <= SEGMENT_HEADER_BYTES) unborn.push(segment)
      else unreadable.push(segment)
      continue
    }
    store ??= header.store
    const isOurs = header.number === segment.number && header.store.every((byte, at) => store?.[at] === byte)
    if (isOurs) sound.push({ ...segment, header })
    else unreadable.push(segment)
  }
  const active = sound.findLast(({ header }) => header.role === 'log')
  const lostRecords = unreadable.reduce((sum, { size }) => sum + Math.ceil(size / RECORD_HEADER_BYTES), 0)
  const knownRecords = lostRecords === 0 || active === undefined ? 0 : Math.ceil(active.size / RECORD_HEADER_BYTES)
  const freshLsn = (active?.header.firstLsn ?? 1) + lostRecords + knownRecords
  return { sound, unborn, unreadable, store, active, freshLsn }
}

/**
 * The segment that the note is about, if it held durable records and is gone. One that was given back (compacted, let
 * go) has a successor that names it, or a later one; a segment made after the loss names an earlier one.
 */
export function missingSegment(
  { sound, unreadable, store }: Inventory,
  note: SyncedNote | undefined,
): number | undefined {
  if (note === undefined || note.offset <= SEGMENT_HEADER_BYTES) return undefined
  if (store !== undefined && !equalBytes(note.store, store)) return undefined
  if ([...sound, ...unreadable].some(({ number }) => number === note.segment)) return undefined
  const later = sound.filter(({ header, number }) => header.role === 'log' && number > note.segment)
  const next = later.reduce<SegmentHeader | undefined>(
    (first, { header }) => (first === undefined || header.number < first.number ? header : first),
    undefined,
  )
  return next === undefined || next.previous < note.segment ? note.segment : undefined
}
