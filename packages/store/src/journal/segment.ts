/** Segments as the running journal knows them, and their files. */

import { type Crc32, RecordSums, type SegmentHeader, type SegmentRole } from './format.ts'
import { createPins, type Pins } from './pins-core.ts'
import type { Gap } from './recovery-core.ts'

export interface Segment {
  readonly number: number
  readonly role: SegmentRole
  readonly header: SegmentHeader
  readonly sums: RecordSums
  /** Where the records that count end. Grows with each sync while the segment is active. */
  end: number
  /** Bytes of the file; more than `end` when the segment was sealed after a failure. */
  size: number
  readonly damage: Gap[]
  readonly pins: Pins
}

/** Where a record lies, and how long its payload is. */
export interface Place {
  readonly segment: number
  readonly offset: number
  readonly length: number
}

export function isSamePlace(a: Place, b: Place): boolean {
  return a.segment === b.segment && a.offset === b.offset
}

/** A point in the log: everything before it, in this and in earlier segments. */
export interface Position {
  readonly segment: number
  readonly offset: number
}

export function makeSegment(crc32: Crc32, header: SegmentHeader, end: number, size: number): Segment {
  return {
    number: header.number,
    role: header.role,
    header,
    sums: new RecordSums(crc32, header.salt),
    end,
    size,
    damage: [],
    pins: createPins(),
  }
}

const NUMBER_DIGITS = 10
const SEGMENT_NAME = /^(\d{10})\.seg$/
const DRAFT_NAME = /^\d{10}\.compact$/

export function segmentName(number: number): string {
  return `${String(number).padStart(NUMBER_DIGITS, '0')}.seg`
}

/** The name of a compacted segment while it is being written. */
export function draftName(number: number): string {
  return `${String(number).padStart(NUMBER_DIGITS, '0')}.compact`
}

export function segmentNumber(name: string): number | undefined {
  const match = SEGMENT_NAME.exec(name)
  return match === null ? undefined : Number(match[1])
}

export function isDraft(name: string): boolean {
  return DRAFT_NAME.test(name)
}
