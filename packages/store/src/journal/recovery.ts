import type { DiskFile } from '@cairn/platform'
import type { DriveDirectory } from '../drive/directory.ts'
import type { JournalMachine } from '../machine.ts'
import { decodeSegmentHeader, SEGMENT_HEADER_BYTES, type SegmentHeader } from './format.ts'
import {
  createTail,
  type FoundSegment,
  type Inventory,
  judge,
  sawBad,
  sawRecord,
  type Tail,
  takeInventory,
} from './recovery-core.ts'
import { scan } from './scan.ts'
import { isDraft, makeSegment, type Position, type Segment, segmentName, segmentNumber } from './segment.ts'

/** A point of the log that is known to be durable, and the LSN of the last record before it. */
export interface Watermark extends Position {
  readonly lsn: number
}

export interface Recovered {
  readonly store: Uint8Array | undefined
  readonly segments: readonly Segment[]
  /** Goes on taking records; absent in a new journal, or when the newest segment is damaged. */
  readonly active: { readonly segment: Segment; readonly file: DiskFile } | undefined
  /** Where the log ends. */
  readonly end: Position | undefined
  readonly nextLsn: number
  readonly nextNumber: number
  readonly unreadable: readonly number[]
}

/** Brings a journal's directory into the state its rules promise. Reads the headers and the unsynced end, nothing else. */
export async function recover(
  machine: JournalMachine,
  directory: DriveDirectory,
  watermark: Watermark | undefined,
): Promise<Recovered> {
  const found = await findSegments(machine, directory)
  const inventory = takeInventory(found)
  for (const { number } of inventory.unborn) await directory.unlink(segmentName(number))
  // A killed process leaves names that are seen but not yet durable.
  await directory.syncNames()
  const { crc32 } = machine.crypto
  const segments = inventory.sound.map((each) => {
    return makeSegment(crc32, each.header, sealedEnd(inventory, each), each.size)
  })
  const newest = segments.find(({ number }) => number === inventory.active?.number)
  // One that cannot be read may be the log's own next one: then only its header says where this one ends.
  const isLast = inventory.unreadable.every(({ number }) => number < (newest?.number ?? 0))
  const tail = newest === undefined ? undefined : await recoverActive(machine, directory, { newest, isLast, watermark })
  return {
    store: inventory.store,
    segments,
    active: newest === undefined || tail?.file === undefined ? undefined : { segment: newest, file: tail.file },
    end: newest === undefined ? undefined : { segment: newest.number, offset: newest.end },
    nextLsn: Math.max(inventory.freshLsn, (tail?.highestLsn ?? 0) + 1, (watermark?.lsn ?? 0) + 1),
    nextNumber: Math.max(0, watermark?.segment ?? 0, ...found.map(({ number }) => number)) + 1,
    unreadable: inventory.unreadable.map(({ number }) => number),
  }
}

async function findSegments(machine: JournalMachine, directory: DriveDirectory): Promise<FoundSegment[]> {
  const found: FoundSegment[] = []
  for (const { name } of await directory.list()) {
    // A compaction that was cut short: everything in it still lies where it came from.
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

/** The next log segment says where this one ends; without one, it was rolled or compacted and counts to its last byte. */
function sealedEnd({ sound }: Inventory, { number, size }: FoundSegment): number {
  const next = sound.find(({ header }) => header.role === 'log' && header.previous === number)
  return next === undefined ? size : Math.min(size, next.header.previousEnd)
}

interface Newest {
  readonly newest: Segment
  readonly isLast: boolean
  readonly watermark: Watermark | undefined
}

/** Finds the end of the newest log segment that can be read. It goes on taking records only if it is sound and the last. */
async function recoverActive(
  machine: JournalMachine,
  directory: DriveDirectory,
  { newest: segment, isLast, watermark }: Newest,
): Promise<{ file: DiskFile | undefined; highestLsn: number }> {
  const file = await directory.open(segmentName(segment.number), 'append')
  try {
    const isKnown = watermark?.segment === segment.number
    const durableEnd = isKnown ? watermark.offset : SEGMENT_HEADER_BYTES
    const tail = createTail(Math.min(durableEnd, segment.size), isKnown ? watermark.lsn : segment.header.firstLsn - 1)
    await scanTail(directory, segment, file, tail)
    const verdict = judge(tail, durableEnd)
    segment.end = verdict.end
    segment.damage.push(...verdict.damage)
    const isSound = verdict.damage.length === 0 && isLast
    if (isSound) await fitFile(directory, file, segment.size, verdict.end)
    // What a killed process wrote is seen but not yet durable; from here on it counts.
    await directory.sync(file)
    if (!isSound) {
      const { number } = segment
      machine.log.error(
        { segment: number, damage: verdict.damage },
        'the end of the log is damaged; a new segment begins',
      )
      await file.close()
      return { file: undefined, highestLsn: tail.highestLsn }
    }
    segment.size = verdict.end
    return { file, highestLsn: tail.highestLsn }
  } catch (error) {
    await Promise.allSettled([file.close()])
    throw error
  }
}

/** Cuts what does not count; or completes the padding of a last record that is whole but for it. */
async function fitFile(directory: DriveDirectory, file: DiskFile, size: number, end: number): Promise<void> {
  if (end < size) await directory.truncate(file, end)
  if (end > size) await directory.append(file, [new Uint8Array(end - size)])
}

async function scanTail(directory: DriveDirectory, segment: Segment, file: DiskFile, tail: Tail): Promise<void> {
  const read = async (position: number, into: Uint8Array): Promise<number> => await directory.read(file, position, into)
  for await (const event of scan(segment.sums, { from: tail.end, to: segment.size, read })) {
    if (event.tag === 'record') sawRecord(tail, event.header, event.next)
    else sawBad(tail, event.next)
  }
}
