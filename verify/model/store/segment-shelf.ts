/** Segments on a drive, the index over them, and the ledger of what was acknowledged. */
import type { Pins } from '../../../packages/store/src/journal/pins-core.ts'
import type { Faults } from '../model.ts'
import type { StoreCores } from './cores.ts'

export interface StoredRecord {
  readonly id: string
  readonly lsn: number
  readonly isTombstone: boolean
}

export interface StoredSegment {
  readonly number: number
  readonly firstLsn: number
  readonly pins: Pins
  readonly records: StoredRecord[]
  isLinked: boolean
}

export interface Place {
  readonly segment: number
  readonly offset: number
}

export interface IndexEntry extends StoredRecord {
  readonly place: Place
}

export const ACTIVE = 4
/** What the segments hold at first; capitals are tombstones. */
const BEFORE = ['xyz', 'Xabcd', 'BCD', '']

export type Shelf = ReturnType<typeof createShelf>

/** Points the index to the newest record of an id that lies in any segment. */
export function mendIndex({ segments, index }: Pick<Shelf, 'segments' | 'index'>, id: string): void {
  const found = [...segments.values()].flatMap(({ number, records }) =>
    records.flatMap((record, offset) => (record.id === id ? [{ ...record, place: { segment: number, offset } }] : [])),
  )
  const newest = found.sort((one, other) => other.lsn - one.lsn)[0]
  if (newest === undefined) index.delete(id)
  else index.set(id, newest)
}

export function createShelf({ pins, compaction }: StoreCores) {
  const segments = new Map<number, StoredSegment>()
  const index = new Map<string, IndexEntry>()
  /** Everything that was acknowledged: what is deleted, and what is there. */
  const ledger: Record<string, 'there' | 'deleted'> = {}
  /** Segments that turned out not to be worth copying. */
  const putOff = new Set<number>()
  let lsn = 0

  const addSegment = (number: number, firstLsn: number): StoredSegment => {
    const segment = { number, firstLsn, pins: pins.createPins(), records: [], isLinked: true }
    segments.set(number, segment)
    return segment
  }
  /** Written, synced, in the index and acknowledged. */
  const append = (segment: StoredSegment, letter: string): void => {
    lsn += 1
    const record = { id: letter.toLowerCase(), lsn, isTombstone: letter !== letter.toLowerCase() }
    const place = { segment: segment.number, offset: segment.records.push(record) - 1 }
    index.set(record.id, { ...record, place })
    ledger[record.id] = record.isTombstone ? 'deleted' : 'there'
  }
  for (const [at, letters] of BEFORE.entries()) {
    const segment = addSegment(at + 1, lsn + 1)
    for (const letter of letters) append(segment, letter)
  }

  const isAt = ({ id }: StoredRecord, { segment, offset }: Place): boolean => {
    const place = index.get(id)?.place
    return place?.segment === segment && place.offset === offset
  }
  /** Where this record lies by the index, and which it is; either may be wrong. */
  const claimOf = (record: StoredRecord, place: Place): { lsn: number; isHere: boolean } | undefined => {
    const entry = index.get(record.id)
    return entry && { lsn: entry.lsn, isHere: isAt(record, place) }
  }
  const liveOf = (segment: StoredSegment): [StoredRecord, Place][] =>
    segment.records
      .map((record, offset): [StoredRecord, Place] => [record, { segment: segment.number, offset }])
      .filter(([record, place]) => isAt(record, place))

  const pickVictim = (): StoredSegment | undefined => {
    const facts = [...segments.values()].map((segment) => {
      const live = liveOf(segment)
      return {
        number: segment.number,
        isSettled: segment.number !== ACTIVE && !segment.pins.isRetiring,
        isPutOff: putOff.has(segment.number),
        isDamaged: false,
        bytes: segment.records.length,
        liveBytes: live.length,
        tombstoneBytes: live.filter(([record]) => record.isTombstone).length,
        firstLsn: segment.firstLsn,
        previous: 0,
        previousEnd: 0,
        fileBytes: segment.records.length,
      }
    })
    return segments.get(compaction.pickVictim(facts)?.number ?? 0)
  }

  const mayDrop = (record: StoredRecord, victim: StoredSegment): boolean => {
    if (!record.isTombstone) return false
    const others = [...segments.values()].filter((each) => each !== victim)
    const oldestLsnElsewhere = Math.min(...others.map(({ firstLsn }) => firstLsn))
    const rules = { wallNow: 1, keepMs: 0, oldestLsnElsewhere, isNeededElsewhere: false }
    return compaction.mayDropTombstone({ lsn: record.lsn, writtenAt: 0 }, rules)
  }

  /** What a rebuild from the files would find under this id. */
  const rebuilt = (id: string): StoredRecord | undefined =>
    [...segments.values()]
      .filter(({ isLinked }) => isLinked)
      .flatMap(({ records }) => records.filter((record) => record.id === id))
      .sort((one, other) => other.lsn - one.lsn)[0]
  const isThere = (id: string): boolean => rebuilt(id)?.isTombstone === false
  const isSaidThere = (id: string): boolean => index.get(id)?.isTombstone === false
  const ids = (fate: 'there' | 'deleted'): string[] => Object.keys(ledger).filter((id) => ledger[id] === fate)
  const faults = (): Faults => ({
    'segment-removed-under-a-reader': [...segments.values()].some((each) => !each.isLinked && each.pins.count > 0),
    'acknowledged-record-lost': ids('there').some((id) => !isThere(id)),
    'deleted-record-back': ids('deleted').some((id) => isThere(id) || isSaidThere(id)),
  })
  const shelf = {
    segments,
    index,
    ledger,
    putOff,
    addSegment,
    append,
    isAt,
    claimOf,
    pickVictim,
    mayDrop,
  }
  return { ...shelf, faults }
}
