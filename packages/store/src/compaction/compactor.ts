/**
 * Gives the space of dead records back, one segment at a time.
 *
 *     sort: every record lives, or is dead by a later one that was read in the journal ─▶ copy into N.compact ─▶ sync
 *     ─▶ rename to N.seg ─▶ sync of the directory ─▶ the index points to the copies, if it still pointed to the
 *     originals ─▶ readers drained ─▶ unlink ─▶ sync of the directory
 *
 * The victim goes when the copies are durable, so a crash anywhere leaves one copy too many and never one too few.
 */
import { isKind, type TokenBucket } from '@cairn/kernel'
import type { DiskFile } from '@cairn/platform'
import { equalBytes } from '@cairn/wire'
import type { IndexEntry } from '../index/keydir-core.ts'
import {
  encodeSegmentHeader,
  FORMAT,
  getInteger,
  RECORD_HEADER_BYTES,
  type RecordHeader,
  recordBytes,
  SEGMENT_HEADER_BYTES,
  TOMBSTONE,
  viewOf,
} from '../journal/format.ts'
import type { ReplayEvent } from '../journal/journal.ts'
import {
  draftName,
  encodeGroup,
  isSamePlace,
  makeSegment,
  type PlacedRecord,
  type RecordPlace,
  type Segment,
  segmentName,
} from '../journal/segment.ts'
import type { RecordStore } from '../record-store.ts'
import {
  type FoundRecord,
  type IndexClaim,
  isProofOfDeath,
  isWorthCopying,
  mayDropTombstone,
  pickVictim,
  readAnswer,
  type SegmentFacts,
  type TombstoneRules,
} from './compaction-core.ts'

/** `doubtful`: nothing proves that it is dead, and the index does not say that it lives. */
export type RecordFate = 'live' | 'dead' | 'doubtful'

const LOOKS_MAX = 2

async function findFate(store: RecordStore, record: PlacedRecord): Promise<RecordFate> {
  const { index, keeper } = store
  const { kind, id, lsn } = record
  for (let look = 1; look <= LOOKS_MAX; look += 1) {
    const entry = index.get(kind, id)
    const answer = readAnswer(lsn, entry && claimOf(entry, record))
    if (answer === 'here') return 'live'
    if (entry === undefined || answer === 'behind') {
      await keeper.recall(record)
      continue
    }
    const found = await readFound(store, record, entry)
    if (isProofOfDeath(claimOf(entry, record), found)) return 'dead'
    await keeper.mend(kind, id)
  }
  return 'doubtful'
}

function claimOf({ lsn, place }: IndexEntry, record: PlacedRecord): IndexClaim {
  return { lsn, isHere: isSamePlace(place, record.place) }
}

/** What lies where the index points to; `undefined` if that cannot be read. */
async function readFound(
  { journal }: RecordStore,
  record: PlacedRecord,
  { lsn, place }: IndexEntry,
): Promise<FoundRecord | undefined> {
  try {
    // With the same LSN it is a copy, and nothing but this copy would be left: it must be whole.
    const found: RecordHeader = lsn === record.lsn ? await journal.read(place) : await journal.readHeader(place)
    return { lsn: found.lsn, isSameId: found.kind === record.kind && equalBytes(found.id, record.id) }
  } catch (error) {
    if (isKind(error, 'Integrity') || isKind(error, 'NotFound')) return undefined
    throw error
  }
}

/** One write: so much is copied without a sync that no caller asked for. */
const WRITE_BYTES = 1024 * 1024
const LOOK_AGAIN_MS = 24 * 3_600_000
const TOMBSTONE_KEEP_MS = 30 * 24 * 3_600_000

export interface CompactorOptions {
  /** Bytes per second, shared with the other users of this bucket. Its burst is at least 1 MiB. */
  readonly pace: TokenBucket
  readonly tombstoneKeepMs?: number
  /** Whether some other target may hold a copy that a tombstone must still beat. */
  readonly isNeededElsewhere?: (kind: number, id: Uint8Array) => boolean
}

export interface CompactionReport {
  readonly victim: number
  readonly freedBytes: number
  readonly copiedBytes: number
}

type LiveRecord = Extract<ReplayEvent, { tag: 'record' }>

type SegmentRules = Omit<TombstoneRules, 'isNeededElsewhere'>

interface Dropped {
  readonly kind: number
  readonly id: Uint8Array
  readonly place: RecordPlace
}

interface Sorted {
  readonly live: readonly RecordPlace[]
  readonly dropped: readonly Dropped[]
  readonly lowestLsn: number
}

interface Copied {
  readonly kind: number
  readonly id: Uint8Array
  readonly from: RecordPlace
  readonly to: RecordPlace
}

interface Filled {
  readonly records: readonly Copied[]
  readonly segment: Segment
}

export class Compactor {
  readonly #store: RecordStore
  readonly #options: CompactorOptions
  /** Segments whose tombstones turned out to be too young, and when to look again. */
  readonly #notBefore = new Map<number, number>()

  constructor(store: RecordStore, options: CompactorOptions) {
    this.#store = store
    this.#options = options
  }

  /** Rewrites the emptiest segment that is worth it; `undefined` if none is. One at a time: the caller sees to that. */
  async compactOne(): Promise<CompactionReport | undefined> {
    const { journal, index, keeper, machine } = this.#store
    if (!index.isComplete) return undefined
    await journal.settleRemovals()
    const chosen = pickVictim(journal.segments().map((segment) => this.#factsOf(segment)))
    const victim = journal.segments().find(({ number }) => number === chosen?.number)
    if (victim === undefined) return undefined
    const sorted = await this.#sort(victim, this.#rules(victim))
    if (sorted === undefined) return undefined
    const liveBytes = sorted.live.reduce((sum, { length }) => sum + recordBytes(length), 0)
    if (!isWorthCopying(liveBytes, victim.end - SEGMENT_HEADER_BYTES)) {
      this.#notBefore.set(victim.number, machine.clock.now() + LOOK_AGAIN_MS)
      return undefined
    }
    await journal.makeRoom(liveBytes)
    const copy = await this.#copy(sorted)
    for (const { kind, id, from, to } of copy.records) index.move(kind, id, from, to)
    for (const { kind, id, place } of sorted.dropped) index.forget(kind, id, place)
    await keeper.leave(victim.number)
    await journal.removeSegment(victim)
    keeper.forgetSegment(victim.number)
    keeper.sealed()
    this.#notBefore.delete(victim.number)
    return { victim: victim.number, freedBytes: victim.size - copy.bytes, copiedBytes: copy.bytes }
  }

  /** Copies what can still be read of a segment that is damaged, whatever lives in it; the index points to the copies. Returns how many. */
  async salvage(damaged: Segment): Promise<number> {
    const live: RecordPlace[] = []
    let oldestLsn = Number.MAX_SAFE_INTEGER
    for await (const event of this.#store.journal.replaySegment(damaged)) {
      if (event.tag === 'damage' || (await findFate(this.#store, event)) === 'dead') continue
      // A payload without a sum of its own is proved by its hash, and not before it is read by itself.
      if (!(await this.#isReadable(event.place))) continue
      live.push(event.place)
      oldestLsn = Math.min(oldestLsn, event.lsn)
    }
    const { records } = await this.#copy({ live, dropped: [], lowestLsn: oldestLsn })
    for (const { kind, id, from, to } of records) this.#store.index.move(kind, id, from, to)
    return records.length
  }

  async #isReadable(place: RecordPlace): Promise<boolean> {
    try {
      await this.#store.journal.read(place)
      return true
    } catch (error) {
      if (isKind(error, 'Integrity')) return false
      throw error
    }
  }

  #factsOf(segment: Segment): SegmentFacts {
    const { journal, index } = this.#store
    const { number, header, end, size, damage, pins } = segment
    return {
      number,
      isSettled: number !== journal.activeNumber && !pins.isRetiring,
      isPutOff: (this.#notBefore.get(number) ?? 0) > this.#store.machine.clock.now(),
      isDamaged: damage.length > 0,
      bytes: end - SEGMENT_HEADER_BYTES,
      ...index.use(number),
      firstLsn: header.firstLsn,
      previous: header.previous,
      previousEnd: header.previousEnd,
      fileBytes: size,
    }
  }

  #rules(victim: Segment): SegmentRules {
    const others = this.#store.journal.segments().filter(({ number }) => number !== victim.number)
    // What cannot be read may hold anything.
    const isBlind = this.#store.journal.unreadable.length + this.#store.keeper.lost.length > 0
    return {
      wallNow: this.#store.machine.clock.wall(),
      keepMs: this.#options.tombstoneKeepMs ?? TOMBSTONE_KEEP_MS,
      oldestLsnElsewhere: isBlind ? 0 : Math.min(...others.map(({ header }) => header.firstLsn)),
    }
  }

  /** Which records of the victim go along; nothing at all if it turns out to be damaged. */
  async #sort(victim: Segment, rules: SegmentRules): Promise<Sorted | undefined> {
    const live: RecordPlace[] = []
    const dropped: Dropped[] = []
    let lowestLsn = Number.MAX_SAFE_INTEGER
    let isDoubtful = false
    for await (const event of this.#store.journal.replaySegment(victim)) {
      if (event.tag === 'damage') return undefined
      const fate = await findFate(this.#store, event)
      if (fate === 'dead') continue
      if (fate === 'doubtful') isDoubtful = true
      lowestLsn = Math.min(lowestLsn, event.lsn)
      if (fate === 'live' && this.#mayDrop(event, rules)) {
        dropped.push({ kind: event.kind, id: event.id, place: event.place })
      } else {
        live.push(event.place)
      }
    }
    // What is kept without need may be what a tombstone covers.
    if (isDoubtful) return { live: [...live, ...dropped.map(({ place }) => place)], dropped: [], lowestLsn }
    return { live, dropped, lowestLsn }
  }

  #mayDrop(record: LiveRecord, rules: SegmentRules): boolean {
    if ((record.flags & TOMBSTONE) === 0) return false
    const isNeededElsewhere = this.#options.isNeededElsewhere?.(record.kind, record.id) ?? false
    const writtenAt = record.payload.length < 8 ? 0 : getInteger(viewOf(record.payload), 0)
    return mayDropTombstone({ lsn: record.lsn, writtenAt }, { ...rules, isNeededElsewhere })
  }

  async #copy(sorted: Sorted): Promise<{ records: readonly Copied[]; bytes: number }> {
    if (sorted.live.length === 0) return { records: [], bytes: 0 }
    const { journal } = this.#store
    const number = journal.takeNumber()
    const { directory } = journal
    const file = await directory.open(draftName(number), 'create')
    try {
      const { records, segment } = await this.#fill(file, number, sorted)
      await directory.sync(file)
      await file.close()
      await directory.rename(draftName(number), segmentName(number))
      await directory.syncNames()
      journal.addSegment(segment)
      return { records, bytes: segment.size }
    } catch (error) {
      await Promise.allSettled([file.close()])
      await Promise.allSettled([directory.unlink(draftName(number))])
      this.#store.keeper.forgetSegment(number)
      throw error
    }
  }

  async #fill(file: DiskFile, number: number, { live, lowestLsn }: Sorted): Promise<Filled> {
    const { machine, journal, keeper } = this.#store
    const header = {
      format: FORMAT,
      overlapsSync: false,
      role: 'compacted',
      store: journal.storeId,
      salt: machine.random.bytes(16),
      number,
      firstLsn: lowestLsn,
      previous: 0,
      previousEnd: 0,
    } as const
    const { crc32 } = machine.crypto
    await journal.directory.append(file, [encodeSegmentHeader(crc32, header)])
    const segment = makeSegment(crc32, header, SEGMENT_HEADER_BYTES, SEGMENT_HEADER_BYTES)
    const records: Copied[] = []
    let buffers: Uint8Array[] = []
    let bytes = 0
    const write = async (): Promise<void> => {
      await this.#options.pace.take(Math.min(bytes, WRITE_BYTES))
      await journal.directory.append(file, buffers)
      buffers = []
      bytes = 0
    }
    for (const from of live) {
      const record = await journal.read(from)
      const start = { offset: segment.size, firstLsn: record.lsn, syncedLsn: record.lsn }
      const group = encodeGroup(segment, [record], start)
      for (const copied of group.records) {
        keeper.noteCopy(copied)
        records.push({ kind: record.kind, id: record.id, from, to: copied.place })
      }
      buffers.push(...group.buffers)
      bytes += group.bytes
      segment.size += group.bytes
      segment.end = segment.size
      if (bytes >= WRITE_BYTES - RECORD_HEADER_BYTES) await write()
    }
    if (bytes > 0) await write()
    return { records, segment }
  }
}
