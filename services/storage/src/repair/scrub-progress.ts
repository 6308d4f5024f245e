/** How far a scrub has come, as it is written down and as it is reported. */
import { type Disk, readSmallJson, replaceSmallJson } from '@cairn/platform'
import type { ScrubFinding } from '@cairn/store'
import { z } from 'zod'

const count = z.int().min(0)

const place = z.strictObject({
  /** Up to where the segments were read; null between rounds. */
  cursor: z.strictObject({ segment: count, offset: count, live_bytes: count }).nullable(),
  /** What was written after this is not part of the round. */
  up_to_lsn: count,
  /** Bytes of the segments when the round began. */
  total_bytes: count,
  /** Chunks, records and bytes read in this round, or in the last one if none is under way. */
  read: count,
  records: count,
  bytes: count,
  /** The first damaged chunks by name. */
  damaged: z.array(z.string()),
  damaged_count: count,
  /** Damaged records that are no chunks, and bytes in which no record can be made out. */
  damaged_records: count,
  damaged_bytes: count,
  /** Entries of the index without a record. */
  missing: count,
  /** Records that the index lacked or had wrong, put right. */
  mended: count,
  /** Segments of which nothing could be read. */
  not_read: z.array(count),
  /** Objects by state at the end of the last round; null before there was one. */
  objects: z.strictObject({ sound: count, damaged: count }).nullable(),
  /** Unix milliseconds; null before the first round has ended. */
  completed_at: z.number().nullable(),
})

export type ScrubProgress = z.output<typeof place>

export const SCRUB_START: ScrubProgress = {
  cursor: null,
  up_to_lsn: 0,
  total_bytes: 0,
  read: 0,
  records: 0,
  bytes: 0,
  damaged: [],
  damaged_count: 0,
  damaged_records: 0,
  damaged_bytes: 0,
  missing: 0,
  mended: 0,
  not_read: [],
  objects: null,
  completed_at: null,
}

export interface ScrubStatus extends Omit<ScrubProgress, 'up_to_lsn'> {
  readonly state: 'waiting' | 'reading'
  /** How much of everything this round has read, 0 to 1; of the last round if none is under way. */
  readonly coverage: number
  readonly age_ms: number | null
}

/** Damaged chunks that are remembered; the count goes on. */
const DAMAGED_NAMED_MAX = 1000

/** The place with what was found added to it. */
export function withFinding(at: ScrubProgress, finding: ScrubFinding): ScrubProgress {
  switch (finding.tag) {
    case 'chunk': {
      if (finding.isSound) return { ...at, read: at.read + 1 }
      const damaged = at.damaged.length < DAMAGED_NAMED_MAX ? [...at.damaged, finding.id] : at.damaged
      return { ...at, read: at.read + 1, damaged, damaged_count: at.damaged_count + 1 }
    }
    case 'object':
      return finding.isSound ? at : { ...at, damaged_records: at.damaged_records + 1 }
    case 'record':
      return { ...at, damaged_records: at.damaged_records + 1 }
    case 'gap':
      return { ...at, damaged_bytes: at.damaged_bytes + finding.bytes }
    case 'missing':
      return { ...at, missing: at.missing + finding.count }
    case 'mended':
      return { ...at, mended: at.mended + 1 }
  }
}

/** Of the last round there is a whole, but for what could not be read at all. */
export function coverageAt(at: ScrubProgress, isReading: boolean): number {
  if (!isReading && at.cursor === null) return at.completed_at === null ? 0 : at.not_read.length === 0 ? 1 : 0.99
  return at.total_bytes === 0 ? 0 : Math.min(1, at.bytes / at.total_bytes)
}

export async function readScrubProgress(disk: Disk, path: string): Promise<ScrubProgress> {
  const read = await readSmallJson(disk, path, place)
  // A place that cannot be read costs one round from the beginning, nothing else.
  return read.tag === 'read' ? read.value : SCRUB_START
}

export async function writeScrubProgress(disk: Disk, path: string, value: ScrubProgress): Promise<void> {
  await replaceSmallJson(disk, path, value)
}
