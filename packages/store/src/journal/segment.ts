/** Segments as the running journal knows them, and their files. */

import { type Crc32, RecordSums, type SegmentFormat, type SegmentHeader, type SegmentRole } from './format.ts'
import { createPins, type Pins } from './pins-core.ts'
import type { Gap } from './recovery-core.ts'

export interface Segment {
  readonly number: number
  readonly role: SegmentRole
  readonly format: SegmentFormat
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
    format: header.format,
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
const SIDE_NAME = /^(\d{10})\.idx$/
const SIDE_DRAFT_NAME = /^\d{10}\.idx\.tmp$/

export function segmentName(number: number): string {
  return `${String(number).padStart(NUMBER_DIGITS, '0')}.seg`
}

/** The name of a compacted segment while it is being written. */
export function draftName(number: number): string {
  return `${String(number).padStart(NUMBER_DIGITS, '0')}.compact`
}

/** The name of what is kept beside a segment: a checked copy of what stands in it, which may be lost at any time. */
export function sideName(number: number): string {
  return `${String(number).padStart(NUMBER_DIGITS, '0')}.idx`
}

/** The name under which a segment that was given up is kept; it is no part of the journal any more. */
export function givenUpName(number: number): string {
  return `${String(number).padStart(NUMBER_DIGITS, '0')}.given-up`
}

export function segmentNumber(name: string): number | undefined {
  const match = SEGMENT_NAME.exec(name)
  return match === null ? undefined : Number(match[1])
}

export function sideNumber(name: string): number | undefined {
  const match = SIDE_NAME.exec(name)
  return match === null ? undefined : Number(match[1])
}

/** Work that was cut short, of a compaction or of a side file. */
export function isDraft(name: string): boolean {
  return DRAFT_NAME.test(name) || SIDE_DRAFT_NAME.test(name)
}
