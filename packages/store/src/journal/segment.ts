/** Segments as the running journal knows them, and their files. */
import {
  alignUp,
  type Crc32,
  PROVED_BY_ID,
  RECORD_HEADER_BYTES,
  RecordSums,
  recordBytes,
  type SegmentFormat,
  type SegmentHeader,
  type SegmentRole,
} from './format.ts'
import { createPins, type Pins } from './pins-core.ts'
import type { Gap } from './recovery-core.ts'

/** A record that is to be written. */
export interface Draft {
  readonly kind: number
  readonly flags: number
  /** 32 bytes. */
  readonly id: Uint8Array
  readonly payload: Uint8Array
}

/** A record that was written, and where. */
export interface PlacedRecord extends Draft {
  readonly lsn: number
  readonly place: RecordPlace
}

export interface Group {
  readonly buffers: Uint8Array[]
  readonly records: PlacedRecord[]
  readonly bytes: number
}

export function draftBytes(drafts: readonly Draft[]): number {
  return drafts.reduce((sum, { payload }) => sum + recordBytes(payload.length), 0)
}

export interface GroupStart {
  readonly offset: number
  readonly firstLsn: number
  readonly syncedLsn: number
}

/** The bytes of records that follow one another in the segment. Payloads are not copied; padding rides with the next header. */
export function encodeGroup(segment: Segment, drafts: readonly Draft[], start: GroupStart): Group {
  const buffers: Uint8Array[] = []
  const records: PlacedRecord[] = []
  let offset = start.offset
  let lsn = start.firstLsn
  let padding = 0
  for (const draft of drafts) {
    const { payload } = draft
    const head = new Uint8Array(padding + RECORD_HEADER_BYTES)
    const payloadSum = (draft.flags & PROVED_BY_ID) === 0 ? segment.sums.payloadSum(offset, lsn, payload) : 0
    const header = { ...draft, length: payload.length, lsn, syncedLsn: start.syncedLsn, payloadSum }
    segment.sums.encode(head.subarray(padding), offset, header)
    buffers.push(head, payload)
    records.push({ ...draft, lsn, place: { segment: segment.number, offset, length: payload.length } })
    const end = offset + RECORD_HEADER_BYTES + payload.length
    padding = alignUp(end) - end
    offset = end + padding
    lsn += 1
  }
  if (padding > 0) buffers.push(new Uint8Array(padding))
  return { buffers, records, bytes: offset - start.offset }
}

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
export interface RecordPlace {
  readonly segment: number
  readonly offset: number
  readonly length: number
}

export function isSamePlace(a: RecordPlace, b: RecordPlace): boolean {
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
