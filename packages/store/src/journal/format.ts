/**
 * The bytes of a segment file. All numbers are little-endian; the README has the same table with reasons.
 *
 *     │ header 128 │ record │ pad │ record │ pad │ …            every record starts at a multiple of 8
 *                    └─ header 72 ─┴─ payload ─┘
 *
 * Format 2 adds a word of flags to the header and a flag to the record. Segments of format 1 are read and never written.
 *
 * Both sums of a record begin with the salt of its segment and its place in the file, so bytes that were a record
 * elsewhere, or that a client stored as a payload to look like one, are not a record here.
 */
import type { Crypto } from '@cairn/platform'

export type Crc32 = Crypto['crc32']

export const SEGMENT_HEADER_BYTES = 128
export const RECORD_HEADER_BYTES = 72
export const RECORD_ID_BYTES = 32
export const RECORD_ALIGNMENT = 8
/** Checked before anything is allocated for a record; the largest chunk is 1 MiB. */
export const PAYLOAD_BYTES_MAX = 4 * 1024 * 1024
/** The record says that its id is gone. */
export const TOMBSTONE = 0b1
/**
 * Format 2: the payload has no sum of its own, because the id is its BLAKE3. The record header alone says that the record
 * is there; a reader that needs the payload must compare the hash with the id.
 */
export const PROVED_BY_ID = 0b10

/** What new segments are written in. */
export const FORMAT: SegmentFormat = 2

const SEGMENT_MAGIC = new TextEncoder().encode('cairnseg')
/** The header's flags: writes may overlap syncs in this segment, see `recovery-core.ts`. */
const OVERLAPS_SYNC = 0b1
const RECORD_MAGIC = 0x7ca1_12ec
const SALT_BYTES = 16
const STORE_ID_BYTES = 16
const SEGMENT_FLAGS_AT = 80
const SEGMENT_SUM_AT = SEGMENT_HEADER_BYTES - 4
const RECORD_SUM_AT = RECORD_HEADER_BYTES - 4

/** 1 has no flags, and no record without a sum over its payload. */
export type SegmentFormat = 1 | 2

/** `log` segments take new records; a `compacted` one was written whole, with records that keep their LSN. */
export type SegmentRole = 'log' | 'compacted'

export interface SegmentHeader {
  readonly format: SegmentFormat
  /** A group may have been written before the sync of the one before it ended. Never in format 1. */
  readonly overlapsSync: boolean
  readonly role: SegmentRole
  readonly store: Uint8Array
  readonly salt: Uint8Array
  readonly number: number
  /** Every record of this log segment has at least this LSN; those of earlier log segments have less. */
  readonly firstLsn: number
  /** The log segment before this one, and where it ends: whatever lies beyond was never acknowledged. 0 for none. */
  readonly previous: number
  readonly previousEnd: number
}

export interface RecordHeader {
  readonly kind: number
  readonly flags: number
  readonly length: number
  readonly id: Uint8Array
  readonly lsn: number
  /** The highest LSN that was durable when this record was written. */
  readonly syncedLsn: number
  readonly payloadSum: number
}

export function encodeSegmentHeader(crc32: Crc32, header: SegmentHeader): Uint8Array {
  const bytes = new Uint8Array(SEGMENT_HEADER_BYTES)
  const view = new DataView(bytes.buffer)
  bytes.set(SEGMENT_MAGIC)
  view.setUint32(8, header.format, true)
  view.setUint32(12, header.role === 'log' ? 1 : 2, true)
  bytes.set(header.store.subarray(0, STORE_ID_BYTES), 16)
  bytes.set(header.salt.subarray(0, SALT_BYTES), 32)
  setInteger(view, 48, header.number)
  setInteger(view, 56, header.firstLsn)
  setInteger(view, 64, header.previous)
  setInteger(view, 72, header.previousEnd)
  view.setUint32(SEGMENT_FLAGS_AT, header.overlapsSync ? OVERLAPS_SYNC : 0, true)
  view.setUint32(SEGMENT_SUM_AT, crc32(bytes.subarray(0, SEGMENT_SUM_AT)), true)
  return bytes
}

/** The header, or `undefined` when these bytes are not one of a format, and with flags, that are known here. */
export function decodeSegmentHeader(crc32: Crc32, bytes: Uint8Array): SegmentHeader | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES) return undefined
  const view = viewOf(bytes)
  if (!SEGMENT_MAGIC.every((byte, at) => bytes[at] === byte)) return undefined
  if (view.getUint32(SEGMENT_SUM_AT, true) !== crc32(bytes.subarray(0, SEGMENT_SUM_AT))) return undefined
  const format = view.getUint32(8, true)
  const flags = view.getUint32(SEGMENT_FLAGS_AT, true)
  if (format !== 1 && format !== 2) return undefined
  // What an unknown flag says may be how the records must be read.
  if ((flags & ~(format === 1 ? 0 : OVERLAPS_SYNC)) !== 0) return undefined
  return {
    format,
    overlapsSync: (flags & OVERLAPS_SYNC) !== 0,
    role: view.getUint32(12, true) === 1 ? 'log' : 'compacted',
    store: bytes.slice(16, 32),
    salt: bytes.slice(32, 48),
    number: getInteger(view, 48),
    firstLsn: getInteger(view, 56),
    previous: getInteger(view, 64),
    previousEnd: getInteger(view, 72),
  }
}

/** How many bytes of the file a record takes, padding included. */
export function recordBytes(payloadBytes: number): number {
  return alignUp(RECORD_HEADER_BYTES + payloadBytes)
}

export function alignUp(offset: number): number {
  return Math.ceil(offset / RECORD_ALIGNMENT) * RECORD_ALIGNMENT
}

/** Makes and checks the sums of the records of one segment. */
export class RecordSums {
  readonly #crc32: Crc32
  readonly #salted: number
  readonly #place = new DataView(new ArrayBuffer(16))
  readonly #placeBytes = new Uint8Array(this.#place.buffer)

  constructor(crc32: Crc32, salt: Uint8Array) {
    this.#crc32 = crc32
    this.#salted = crc32(salt)
  }

  payloadSum(offset: number, lsn: number, payload: Uint8Array): number {
    return this.#crc32(payload, this.#placeSum(offset, lsn))
  }

  /** Writes the header of a record that will lie at `offset` into the first bytes of `into`. */
  encode(into: Uint8Array, offset: number, header: RecordHeader): void {
    const view = viewOf(into)
    view.setUint32(0, RECORD_MAGIC, true)
    view.setUint8(4, header.kind)
    view.setUint8(5, header.flags)
    view.setUint32(8, header.length, true)
    view.setUint32(12, header.payloadSum, true)
    setInteger(view, 16, header.lsn)
    setInteger(view, 24, header.syncedLsn)
    into.set(header.id, 32)
    view.setUint32(RECORD_SUM_AT, this.#headerSum(into, offset, header.lsn), true)
  }

  /** The header at `offset` of the file, whose bytes begin at `at`; `undefined` if none lies there. */
  decode(bytes: Uint8Array, at: number, offset: number): RecordHeader | undefined {
    if (at + RECORD_HEADER_BYTES > bytes.length) return undefined
    const view = new DataView(bytes.buffer, bytes.byteOffset + at, RECORD_HEADER_BYTES)
    if (view.getUint32(0, true) !== RECORD_MAGIC) return undefined
    const length = view.getUint32(8, true)
    const lsn = getInteger(view, 16)
    const header = bytes.subarray(at, at + RECORD_HEADER_BYTES)
    if (length > PAYLOAD_BYTES_MAX || view.getUint32(RECORD_SUM_AT, true) !== this.#headerSum(header, offset, lsn)) {
      return undefined
    }
    return {
      kind: view.getUint8(4),
      flags: view.getUint8(5),
      length,
      id: header.slice(32, 32 + RECORD_ID_BYTES),
      lsn,
      syncedLsn: getInteger(view, 24),
      payloadSum: view.getUint32(12, true),
    }
  }

  #headerSum(header: Uint8Array, offset: number, lsn: number): number {
    return this.#crc32(header.subarray(0, RECORD_SUM_AT), this.#placeSum(offset, lsn))
  }

  #placeSum(offset: number, lsn: number): number {
    setInteger(this.#place, 0, offset)
    setInteger(this.#place, 8, lsn)
    return this.#crc32(this.#placeBytes, this.#salted)
  }
}

const WORD = 0x1_0000_0000

/** A whole number up to 2⁵³ as 64 bits. */
export function setInteger(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % WORD, true)
  view.setUint32(at + 4, Math.floor(value / WORD), true)
}

export function getInteger(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * WORD
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
