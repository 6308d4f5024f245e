/**
 * Reading records out of a window of a segment.
 *
 *     window   ··│ record │ record │ ?? │ record │ rec…
 *                   record    record  bad         short: more bytes are needed to tell
 *
 * After something that is not a record the scan looks for the next place that is one: every multiple of 8 whose sum
 * fits the salt, the place and the LSN.
 *
 * A payload that has no sum (`PROVED_BY_ID`) is hashed only if that is asked for: when the end of the log is recovered,
 * where it may be torn. Elsewhere the header and the length make the record, and a reader of the payload proves it.
 */
import { blake3, equalBytes } from '@cairn/wire'
import {
  alignUp,
  PROVED_BY_ID,
  RECORD_ALIGNMENT,
  RECORD_HEADER_BYTES,
  type RecordHeader,
  type RecordSums,
} from './format.ts'

export type Scanned =
  | { readonly tag: 'record'; readonly header: RecordHeader; readonly payload: Uint8Array; readonly next: number }
  /** More of the file must be in the window: this many bytes from the place asked about. */
  | { readonly tag: 'short'; readonly bytes: number }
  /** No record here. With `next`, the header was sound and only the payload is not. */
  | { readonly tag: 'bad'; readonly next: number | undefined; readonly header?: RecordHeader }

/** How payloads without a sum of their own are taken. */
export type PayloadCheck = 'header' | 'hash'

/** What lies at `offset` of the file; `window` holds the file from `base` on, and the file has `size` bytes. */
export function scanAt(
  sums: RecordSums,
  window: Uint8Array,
  base: number,
  offset: number,
  { size, proof }: { readonly size: number; readonly proof: PayloadCheck },
): Scanned {
  const at = offset - base
  if (offset + RECORD_HEADER_BYTES > size) return { tag: 'bad', next: undefined }
  if (at + RECORD_HEADER_BYTES > window.length) return { tag: 'short', bytes: RECORD_HEADER_BYTES }
  const header = sums.decode(window, at, offset)
  if (header === undefined) return { tag: 'bad', next: undefined }
  const bytes = RECORD_HEADER_BYTES + header.length
  if (offset + bytes > size) return { tag: 'bad', next: undefined }
  if (at + bytes > window.length) return { tag: 'short', bytes }
  const payload = window.subarray(at + RECORD_HEADER_BYTES, at + bytes)
  const next = alignUp(offset + bytes)
  const isTakenAsIs = proof === 'header' && (header.flags & PROVED_BY_ID) !== 0
  if (!isTakenAsIs && !isPayloadSound(sums, offset, header, payload)) return { tag: 'bad', next, header }
  return { tag: 'record', header, payload, next }
}

/** Whether these are the bytes that were written: by their sum, or by the id that is their hash. */
export function isPayloadSound(sums: RecordSums, offset: number, header: RecordHeader, payload: Uint8Array): boolean {
  if ((header.flags & PROVED_BY_ID) !== 0) return equalBytes(blake3(payload), header.id)
  return sums.payloadSum(offset, header.lsn, payload) === header.payloadSum
}

/** The first place in the window at or after `offset` where a sound record header lies. */
export function findHeader(sums: RecordSums, window: Uint8Array, base: number, offset: number): number | undefined {
  for (let at = alignUp(offset) - base; at + RECORD_HEADER_BYTES <= window.length; at += RECORD_ALIGNMENT) {
    if (sums.decode(window, at, base + at) !== undefined) return base + at
  }
  return undefined
}
