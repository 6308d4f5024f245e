/** How far a scrub has come, as it is written down and as it is told. */
import { type Disk, readSmallJson, replaceSmallJson } from '@cairn/platform'
import { z } from 'zod'

const place = z.strictObject({
  /** The last chunk read; null between rounds. */
  cursor: z.string().nullable(),
  /** Chunks read in this round, or in the last one if none is under way. */
  read: z.int().min(0),
  /** The first damaged ones by name. */
  damaged: z.array(z.string()),
  damaged_count: z.int().min(0),
  /** Objects by state at the end of the last round; null before there was one. */
  objects: z.strictObject({ sound: z.int().min(0), damaged: z.int().min(0) }).nullable(),
  /** Unix milliseconds; null before the first round has ended. */
  completed_at: z.number().nullable(),
})

export type Place = z.output<typeof place>

export const START: Place = { cursor: null, read: 0, damaged: [], damaged_count: 0, objects: null, completed_at: null }

export interface ScrubReport extends Place {
  readonly state: 'waiting' | 'reading'
  /** How much of everything this round has read, 0 to 1; of the last round if none is under way. */
  readonly coverage: number
  readonly age_ms: number | null
}

/** Chunks are read in order of their hashes, which are spread evenly: where the cursor stands is how much was read. */
export function coverageAt({ cursor, completed_at: completedAt }: Place, isReading: boolean): number {
  if (cursor === null) return completedAt === null || isReading ? 0 : 1
  return Number.parseInt(cursor.slice('b3:'.length, 'b3:'.length + 8), 16) / 2 ** 32
}

export async function readPlace(disk: Disk, path: string): Promise<Place> {
  const read = await readSmallJson(disk, path, place)
  // A place that cannot be read costs one round from the beginning, nothing else.
  return read.tag === 'read' ? read.value : START
}

export async function writePlace(disk: Disk, path: string, value: Place): Promise<void> {
  await replaceSmallJson(disk, path, value)
}
