import { toCairnError } from '@cairn/kernel'
import type { DiskFile } from '@cairn/platform'
import type { DriveDirectory, JournalMachine } from '../drive/drive.ts'
import { decodeSegmentHeader, FORMAT, SEGMENT_HEADER_BYTES, type SegmentHeader } from './format.ts'
import {
  type Cut,
  createTail,
  type DurablePoint,
  type FoundSegment,
  furthestKnown,
  type Inventory,
  isAbout,
  judge,
  missingSegment,
  sawBad,
  sawRecord,
  type Tail,
  takeInventory,
} from './recovery-core.ts'
import { scan } from './scan.ts'
import { isDraft, makeSegment, type Position, type Segment, segmentName, segmentNumber } from './segment.ts'
import { findNotes } from './synced-note.ts'
import type { NoteFile } from './synced-note-core.ts'

/** A point of the log that is known to be durable, and the LSN of the last record before it. */
export interface Watermark extends Position {
  readonly lsn: number
}

/** A cut, and the segment it was made in. */
export interface LogCut extends Cut {
  readonly segment: number
}

export interface Recovered {
  readonly store: Uint8Array | undefined
  readonly segments: readonly Segment[]
  /** Goes on taking records; absent in a new journal, after damage, and where the newest segment has an older format or may not overlap. */
  readonly active: { readonly segment: Segment; readonly file: DiskFile } | undefined
  /** Where the log ends. */
  readonly end: Position | undefined
  readonly nextLsn: number
  readonly nextNumber: number
  /** Segments that cannot be read, or that are known to have been there and are not. */
  readonly unreadable: readonly number[]
  readonly cut: LogCut | undefined
  readonly noteFile: NoteFile | undefined
}

/** Records above the last note that a missing segment may have held: their LSNs are not given out again. */
const UNNOTED_LSNS = 65_536

/** Brings a journal's directory into the state its rules promise. Reads the headers and the unsynced end, nothing else. */
export async function recover(
  machine: JournalMachine,
  directory: DriveDirectory,
  watermark: Watermark | undefined,
): Promise<Recovered> {
  const found = await findSegments(machine, directory)
  const inventory = takeInventory(found)
  const { best, furthest } = await findNotes(machine, directory, (each) =>
    inventory.sound.some(({ header }) => isAbout(each, header)),
  )
  const note = best?.note
  const missing = missingSegment(inventory, furthest)
  for (const { number } of inventory.unborn) await directory.unlink(segmentName(number))
  // A killed process leaves names that are seen but not yet durable.
  await directory.syncNames()
  const segments = inventory.sound.map((each) => sealedSegment(machine, inventory, each))
  const newest = segments.find(({ number }) => number === inventory.active?.number)
  // One that cannot be read may be the log's own next one: then only its header says where this one ends.
  const isLast = missing === undefined && inventory.unreadable.every(({ number }) => number < (newest?.number ?? 0))
  const known = newest === undefined ? undefined : furthestKnown(newest.header, note, watermark)
  const tail =
    newest === undefined || known === undefined
      ? undefined
      : await recoverActive(machine, directory, { segment: newest, isLast, known })
  const lostLsn = missing === undefined ? 0 : (furthest?.lsn ?? 0) + UNNOTED_LSNS
  if (missing !== undefined) {
    const facts = { segment: missing, lastLsn: furthest?.lsn, end: furthest?.offset }
    machine.log.error(facts, 'a segment is missing that is known to have held acknowledged records')
  }
  return {
    store: inventory.store,
    segments,
    active: newest === undefined || tail?.file === undefined ? undefined : { segment: newest, file: tail.file },
    end: newest === undefined ? undefined : { segment: newest.number, offset: endOf(newest) },
    nextLsn: Math.max(inventory.freshLsn, (tail?.highestLsn ?? 0) + 1, (watermark?.lsn ?? 0) + 1, lostLsn + 1),
    nextNumber: Math.max(0, watermark?.segment ?? 0, missing ?? 0, ...found.map(({ number }) => number)) + 1,
    unreadable: [...inventory.unreadable.map(({ number }) => number), ...(missing === undefined ? [] : [missing])],
    cut: tail?.cut,
    noteFile: best?.file,
  }
}

/** Where the log ends, there or not: the header of the next segment keeps it in mind that some of it was lost. */
function endOf({ end, damage }: Segment): number {
  return damage.reduce((furthest, { to }) => Math.max(furthest, to), end)
}

async function findSegments(machine: JournalMachine, directory: DriveDirectory): Promise<FoundSegment[]> {
  const found: FoundSegment[] = []
  for (const { name } of await directory.list()) {
    // Cut short: everything in a compaction still lies where it came from, and a side file can be made again.
    if (isDraft(name)) await directory.unlink(name)
    const number = segmentNumber(name)
    if (number === undefined) continue
    await using file = await directory.open(name, 'read')
    // A bit may flip on the way: what is wrong twice is wrong where it lies.
    const header = (await readHeader(machine, directory, file)) ?? (await readHeader(machine, directory, file))
    found.push({ number, size: await directory.size(file), header })
  }
  return found
}

async function readHeader(
  machine: JournalMachine,
  directory: DriveDirectory,
  file: DiskFile,
): Promise<SegmentHeader | undefined> {
  const bytes = new Uint8Array(SEGMENT_HEADER_BYTES)
  const count = await directory.read(file, 0, bytes)
  return decodeSegmentHeader(machine.crypto.crc32, bytes.subarray(0, count))
}

/**
 * The next log segment says where this one ends, and that all before was synced; without one, it was rolled or compacted
 * and counts to its last byte.
 */
function sealedSegment(
  machine: JournalMachine,
  { sound }: Inventory,
  { number, size, header }: Inventory['sound'][number],
): Segment {
  const next = sound.find((other) => other.header.role === 'log' && other.header.previous === number)
  const end = next?.header.previousEnd ?? size
  const segment = makeSegment(machine.crypto.crc32, header, Math.min(size, end), size)
  if (size < end) {
    segment.damage.push({ from: size, to: end })
    machine.log.error({ segment: number, from: size, to: end }, 'a segment has lost its end, and acknowledged records')
  }
  return segment
}

interface Newest {
  readonly segment: Segment
  readonly isLast: boolean
  readonly known: DurablePoint
}

interface RecoveredTail {
  readonly file: DiskFile | undefined
  readonly highestLsn: number
  readonly cut: LogCut | undefined
}

/** Finds the end of the newest log segment that can be read. It goes on taking records only if it is sound and the last. */
async function recoverActive(
  machine: JournalMachine,
  directory: DriveDirectory,
  { segment, isLast, known }: Newest,
): Promise<RecoveredTail> {
  const file = await directory.open(segmentName(segment.number), 'append')
  try {
    const tail = createTail(Math.min(known.offset, segment.size), known.lsn)
    await scanTail(directory, segment, file, tail)
    const verdict = judge(tail, known.offset)
    const cut = verdict.cut === undefined ? undefined : { segment: segment.number, ...verdict.cut }
    const { highestLsn } = tail
    segment.end = verdict.end
    segment.damage.push(...verdict.damage)
    const isSound = verdict.damage.length === 0 && isLast
    const isFitted = isSound && (await fitFile(directory, file, segment.size, verdict.end))
    // What a killed process wrote is seen but not yet durable; from here on it counts.
    await directory.sync(file)
    reportCut(machine, cut)
    if (isFitted) segment.size = verdict.end
    else segment.end = Math.min(segment.end, segment.size)
    // What is written to it now overlaps syncs, and its header must say so.
    if (isFitted && segment.format === FORMAT && segment.header.overlapsSync) return { file, highestLsn, cut }
    const { number, damage } = segment
    if (damage.length > 0)
      machine.log.error({ segment: number, damage }, 'the end of the log is damaged; a new segment begins')
    await file.close()
    return { file: undefined, highestLsn, cut }
  } catch (error) {
    await Promise.allSettled([file.close()])
    throw error
  }
}

/** Nothing knows of what is cut that it was durable; nothing knows that it was not, and so it is said. */
function reportCut(machine: JournalMachine, cut: LogCut | undefined): void {
  if (cut === undefined) return
  const { segment, from, to, firstLsn, lastLsn } = cut
  const facts = { segment, offset: from, bytes: to - from, firstLsn, lastLsn, records: lastLsn - firstLsn + 1 }
  machine.log.warn(facts, 'the end of the log was not whole and was cut; it may include acknowledged records')
}

/** Cuts what does not count; or completes the padding of a last record that is whole but for it. False without room. */
async function fitFile(directory: DriveDirectory, file: DiskFile, size: number, end: number): Promise<boolean> {
  if (end < size) await directory.truncate(file, end)
  if (end <= size) return true
  try {
    await directory.append(file, [new Uint8Array(end - size)])
    return true
  } catch (error) {
    // The record counts all the same, but on a full disk the next one cannot follow it in this file.
    if (toCairnError(error).status === 507) return false
    throw error
  }
}

async function scanTail(directory: DriveDirectory, segment: Segment, file: DiskFile, tail: Tail): Promise<void> {
  const read = async (position: number, into: Uint8Array): Promise<number> => await directory.read(file, position, into)
  for await (const event of scan(segment.sums, { from: tail.end, to: segment.size, proof: 'hash', read })) {
    if (event.tag === 'record') sawRecord(tail, event.header, event.next)
    else sawBad(tail, event.next, event.header?.lsn)
  }
}
