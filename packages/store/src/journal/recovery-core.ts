/**
 * What of a segment counts when it is opened again.
 *
 *     │ synced │ synced │ synced │ group under way when the power went │
 *                                 ok   ok   ✗   ok                      ✗: cut here, nothing of it was acknowledged
 *     │ synced │ ✗ │ synced │ …                                         ✗: damage. Kept, reported, never cut
 *
 * A record carries the LSN that was durable when it was written, and one group is under way at a time. So a bad
 * place with a later record that knows of something durable past the last good LSN before it had itself been
 * durable: that is damage. Likewise a bad place below what the index says was durable. What remains can only be the
 * unsynced end.
 */
import { RECORD_HEADER_BYTES, SEGMENT_HEADER_BYTES, type SegmentHeader } from './format.ts'

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
  /** The highest LSN any sound record of the segment has, counted or not. */
  highestLsn: number
  syncedLsn: number
  readonly suspects: Suspect[]
}

export interface TailVerdict {
  /** The segment counts up to here; the rest is cut. */
  readonly end: number
  readonly lastLsn: number
  readonly damage: readonly Gap[]
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

/** Nothing sound from `tail.end` to `next`. */
export function sawBad(tail: Tail, next: number): void {
  const last = tail.suspects.at(-1)
  if (last !== undefined && last.to === tail.end) last.to = next
  else tail.suspects.push({ from: tail.end, to: next, after: tail.lastLsn })
  tail.end = next
}

/** Below `durableEnd` everything was durable, whoever says so: the index, or the header of the next segment. */
export function judge(tail: Tail, durableEnd: number): TailVerdict {
  const damage: Gap[] = []
  for (const { from, to, after } of tail.suspects) {
    if (from >= durableEnd && tail.syncedLsn <= after) return { end: from, lastLsn: after, damage }
    damage.push({ from, to })
  }
  if (tail.end < durableEnd) damage.push({ from: tail.end, to: durableEnd })
  return { end: tail.end, lastLsn: tail.lastLsn, damage }
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
