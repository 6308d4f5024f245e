import { alignUp, PROVED_BY_ID, RECORD_HEADER_BYTES, recordBytes } from './format.ts'
import type { Place, Segment } from './segment.ts'

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
  readonly place: Place
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
