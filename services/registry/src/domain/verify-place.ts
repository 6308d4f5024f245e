/** How far the deep verifier has come, as it is written down and as it is told. */
import { type Disk, readSmallJson, replaceSmallJson } from '@cairn/platform'
import { z } from 'zod'

const place = z.strictObject({
  /** Entries below it were proved in this round. */
  next: z.int().min(0),
  /** The first entry that was wrong, and why; null if none was. */
  bad: z.strictObject({ index: z.int().min(0), why: z.string() }).nullable(),
  /** Unix milliseconds of the last round that reached the end; null before there was one. */
  completed_at: z.number().nullable(),
})

export type VerifyPlace = z.output<typeof place>

export const VERIFY_START: VerifyPlace = { next: 0, bad: null, completed_at: null }

export interface VerifyReport extends VerifyPlace {
  readonly size: number
  /** 0 to 1. */
  readonly progress: number
}

export async function readVerifyPlace(disk: Disk, path: string): Promise<VerifyPlace> {
  const read = await readSmallJson(disk, path, place)
  // A place that cannot be read costs one round from the beginning, nothing else.
  return read.tag === 'read' ? read.value : VERIFY_START
}

export async function writeVerifyPlace(disk: Disk, path: string, value: VerifyPlace): Promise<void> {
  await replaceSmallJson(disk, path, value)
}
