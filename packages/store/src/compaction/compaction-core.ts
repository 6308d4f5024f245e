/**
 * Which segment is worth rewriting, and which of its records go along.
 *
 *     victim   │ live │ dead │ dead │ tombstone │ live │        below half live
 *     copy     │ live │ tombstone │ live │                      each with the LSN it had
 *
 * The highest LSN of an id wins wherever it lies, so copies need no order among segments. A tombstone goes only when
 * nothing older can be left for it to cover, here or at any other target.
 */

/** Above this share of live bytes a copy costs more than it frees. */
const LIVE_SHARE_MAX = 0.5

export interface SegmentFacts {
  readonly number: number
  /** Nothing is appended to it any more, and all of it is in the index. */
  readonly isSettled: boolean
  /** It was looked at and found not worth it, not long ago. */
  readonly isPutOff: boolean
  /** Damaged segments are kept for the repair. */
  readonly isDamaged: boolean
  readonly bytes: number
  readonly liveBytes: number
  readonly tombstoneBytes: number
  readonly firstLsn: number
  /** The log segment this one says the end of, and where it said that end is. */
  readonly previous: number
  readonly previousEnd: number
  readonly fileBytes: number
}

/** The segment with the smallest share of live bytes, if one is worth it. */
export function pickVictim(segments: readonly SegmentFacts[]): SegmentFacts | undefined {
  const oldestLsn = Math.min(...segments.map(({ firstLsn }) => firstLsn))
  const share = (each: SegmentFacts): number => {
    // Only the oldest segment can let tombstones go: whatever they cover is as old as they are, or older.
    const mayGoBytes = each.firstLsn === oldestLsn ? each.tombstoneBytes : 0
    return (each.liveBytes - mayGoBytes) / Math.max(1, each.bytes)
  }
  const worth = segments.filter((each) => isEligible(each, segments) && share(each) < LIVE_SHARE_MAX)
  return worth.sort((a, b) => share(a) - share(b) || a.number - b.number)[0]
}

/** Whether copying this much of a segment frees enough. */
export function isWorthCopying(copiedBytes: number, segmentBytes: number): boolean {
  return copiedBytes < LIVE_SHARE_MAX * segmentBytes
}

function isEligible(segment: SegmentFacts, segments: readonly SegmentFacts[]): boolean {
  if (!segment.isSettled || segment.isPutOff || segment.isDamaged) return false
  // Only this header says that the bytes beyond that end never counted.
  const before = segments.find(({ number }) => number === segment.previous)
  return before === undefined || before.fileBytes <= segment.previousEnd
}

/*
 * The fate of a record: it may be left behind only if the journal itself has a later one of the same kind and id.
 *
 *     record ─▶ index: where is the newest? ─┬─ here ─▶ it lives
 *                                            ├─ elsewhere ─▶ read what lies there: same kind and id, that LSN ─▶ dead
 *                                            └─ nowhere, older, not there, not readable ─▶ kept, and the index is mended
 *
 * The index only says where to look. Whatever is wrong with it, the worst is that something dead is kept.
 */

/** `here`: the index points to this very record. `behind`: it knows of none, or of an older one. */
export type IndexAnswer = 'here' | 'elsewhere' | 'behind'

/** The newest record of an id, as the index has it. */
export interface IndexClaim {
  readonly lsn: number
  /** At the place of the record in question. */
  readonly isHere: boolean
}

export function readAnswer(lsn: number, entry: IndexClaim | undefined): IndexAnswer {
  if (entry === undefined || entry.lsn < lsn) return 'behind'
  return entry.isHere && entry.lsn === lsn ? 'here' : 'elsewhere'
}

export interface FoundRecord {
  readonly lsn: number
  readonly isSameId: boolean
}

/** Whether what was read at the place of an `elsewhere` proves the record dead: it is a later one of its id, or its copy. */
export function isProofOfDeath(entry: IndexClaim, found: FoundRecord | undefined): boolean {
  if (entry.isHere || found === undefined) return false
  return found.isSameId && found.lsn === entry.lsn
}

export interface TombstoneFacts {
  readonly lsn: number
  readonly writtenAt: number
}

export interface TombstoneRules {
  /** Wall clock: tombstones are dated for people and peers, never ordered by it. */
  readonly wallNow: number
  readonly keepMs: number
  /** The lowest LSN that any other segment may hold. */
  readonly oldestLsnElsewhere: number
  /** Whether some other target may hold an older copy. */
  readonly isNeededElsewhere: boolean
}

export function mayDropTombstone(tombstone: TombstoneFacts, rules: TombstoneRules): boolean {
  if (rules.isNeededElsewhere || rules.wallNow - tombstone.writtenAt < rules.keepMs) return false
  return rules.oldestLsnElsewhere > tombstone.lsn
}
