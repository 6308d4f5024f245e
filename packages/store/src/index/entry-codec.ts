/**
 * How the index is laid out in the key-value store. Everything in it follows from the journal.
 *
 *     r kind id(32)              → what the newest record of this kind and id is, and where
 *     s segment(8, big-endian)   → bytes of the segment that still count, and how many of them are tombstones
 *     w                          → the watermark: up to where the journal is in here
 *     d …                        → keys derived from records by whoever owns the kind
 */
import { compareBytes } from '@cairn/wire'
import { getInteger, RECORD_ID_BYTES, setInteger, viewOf } from '../journal/format.ts'
import type { Watermark } from '../journal/recovery.ts'
import type { Place } from '../journal/segment.ts'

const RECORD = 0x72
const SEGMENT = 0x73
const ENTRY_HEAD_BYTES = 32
const WATERMARK_BYTES = 40
const STORE_ID_BYTES = 16
export const WATERMARK_KEY = Uint8Array.of(0x77)
export const DERIVED = 0x64

export interface IndexEntry {
  readonly lsn: number
  readonly isTombstone: boolean
  readonly place: Place
  /** The payload itself, when it is small and its kind is kept in the index. */
  readonly inline: Uint8Array | undefined
}

export function recordKey(kind: number, id: Uint8Array): Uint8Array {
  const key = new Uint8Array(2 + RECORD_ID_BYTES)
  key[0] = RECORD
  key[1] = kind
  key.set(id, 2)
  return key
}

/** All keys of a kind from `after` (exclusive) on. */
export function recordRange(kind: number, after: Uint8Array | undefined): { from: Uint8Array; to: Uint8Array } {
  const from = after === undefined ? Uint8Array.of(RECORD, kind) : Uint8Array.of(...recordKey(kind, after), 0)
  return { from, to: Uint8Array.of(RECORD, kind + 1) }
}

export function idOfKey(key: Uint8Array): Uint8Array {
  return key.slice(2)
}

export function encodeEntry({ lsn, isTombstone, place, inline }: IndexEntry): Uint8Array {
  const bytes = new Uint8Array(ENTRY_HEAD_BYTES + (inline?.length ?? 0))
  const view = viewOf(bytes)
  bytes[0] = (isTombstone ? 1 : 0) | (inline === undefined ? 0 : 2)
  view.setUint32(4, place.length, true)
  setInteger(view, 8, lsn)
  setInteger(view, 16, place.segment)
  setInteger(view, 24, place.offset)
  if (inline !== undefined) bytes.set(inline, ENTRY_HEAD_BYTES)
  return bytes
}

export function decodeEntry(bytes: Uint8Array): IndexEntry {
  const view = viewOf(bytes)
  const state = bytes[0] ?? 0
  return {
    isTombstone: (state & 1) !== 0,
    lsn: getInteger(view, 8),
    place: { segment: getInteger(view, 16), offset: getInteger(view, 24), length: view.getUint32(4, true) },
    inline: (state & 2) === 0 ? undefined : bytes.slice(ENTRY_HEAD_BYTES),
  }
}

export function segmentKey(segment: number): Uint8Array {
  const key = new Uint8Array(9)
  const view = viewOf(key)
  key[0] = SEGMENT
  view.setUint32(1, Math.floor(segment / 0x1_0000_0000))
  view.setUint32(5, segment % 0x1_0000_0000)
  return key
}

export const SEGMENT_RANGE = { from: Uint8Array.of(SEGMENT), to: Uint8Array.of(SEGMENT + 1) } as const

export function decodeSegmentKey(key: Uint8Array): number {
  const view = viewOf(key)
  return view.getUint32(1) * 0x1_0000_0000 + view.getUint32(5)
}

export interface SegmentUse {
  /** Bytes of the segment that the index points to. */
  readonly liveBytes: number
  /** How many of those are tombstones, which may go one day. */
  readonly tombstoneBytes: number
}

export function encodeSegmentUse({ liveBytes, tombstoneBytes }: SegmentUse): Uint8Array {
  const value = new Uint8Array(16)
  const view = viewOf(value)
  setInteger(view, 0, liveBytes)
  setInteger(view, 8, tombstoneBytes)
  return value
}

export function decodeSegmentUse(value: Uint8Array): SegmentUse {
  const view = viewOf(value)
  return { liveBytes: getInteger(view, 0), tombstoneBytes: getInteger(view, 8) }
}

/** The watermark names its store, so that an index is never used on the journal of another. */
export function encodeWatermark(store: Uint8Array, { segment, offset, lsn }: Watermark): Uint8Array {
  const value = new Uint8Array(WATERMARK_BYTES)
  const view = viewOf(value)
  value.set(store)
  setInteger(view, 16, segment)
  setInteger(view, 24, offset)
  setInteger(view, 32, lsn)
  return value
}

export function decodeWatermark(value: Uint8Array): { readonly store: Uint8Array; readonly watermark: Watermark } {
  const view = viewOf(value)
  const watermark = { segment: getInteger(view, 16), offset: getInteger(view, 24), lsn: getInteger(view, 32) }
  return { store: value.slice(0, STORE_ID_BYTES), watermark }
}

export function isSameStore(a: Uint8Array, b: Uint8Array): boolean {
  return compareBytes(a, b) === 0
}
