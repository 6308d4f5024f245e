import { alignUp, RECORD_HEADER_BYTES, type RecordHeader, type RecordSums } from './format.ts'
import { findHeader, type PayloadCheck, scanAt } from './scan-core.ts'

/** What is read at a time; a longer record widens it for as long as it is looked at. */
const WINDOW_BYTES = 1024 * 1024

export type ScanEvent =
  | {
      readonly tag: 'record'
      readonly header: RecordHeader
      readonly offset: number
      readonly next: number
      /** Valid until the next event is asked for. */
      readonly payload: Uint8Array
    }
  | {
      readonly tag: 'bad'
      readonly offset: number
      readonly next: number
      /** Of the record whose header is sound and whose payload is not. */
      readonly header?: RecordHeader | undefined
    }

export interface ScanRange {
  readonly from: number
  readonly to: number
  /** `header` unless given. */
  readonly proof?: PayloadCheck
  /** What is read at a time; a megabyte unless given. */
  readonly windowBytes?: number
  /** Fills the buffer from this position of the file; fewer bytes only at its end. */
  readonly read: (position: number, into: Uint8Array) => Promise<number>
}

/**
 * Everything between two places of a segment, record by record, bad stretches included; reads each byte about once. What
 * is bad is read again before that is said: a bit may flip on the way as well as on the disk.
 */
export async function* scan(sums: RecordSums, range: ScanRange): AsyncGenerator<ScanEvent> {
  for await (const events of scanTogether(sums, range)) yield* events
}

/** The same, as many at a time as are in the window: millions of small records, one by one, would take seconds longer. */
export async function* scanTogether(sums: RecordSums, range: ScanRange): AsyncGenerator<readonly ScanEvent[]> {
  const { from, to, proof = 'header', read, windowBytes = WINDOW_BYTES } = range
  const window = new ScanWindow(read, to, windowBytes)
  let events: ScanEvent[] = []
  let offset = from
  let readAgainAt: number | undefined
  while (offset < to) {
    const scanned = scanAt(sums, window.bytes, window.base, offset, { size: to, proof })
    switch (scanned.tag) {
      case 'short':
        // What was found lies in the window, which is about to hold something else.
        if (events.length > 0) yield events
        events = []
        if (!(await window.load(offset, scanned.bytes))) {
          yield [{ tag: 'bad', offset, next: to }]
          return
        }
        break
      case 'record':
        events.push({ tag: 'record', header: scanned.header, offset, next: scanned.next, payload: scanned.payload })
        offset = scanned.next
        break
      case 'bad': {
        if (events.length > 0) yield events
        events = []
        if (readAgainAt !== offset) {
          readAgainAt = offset
          window.forget(offset)
          break
        }
        const next = scanned.next ?? (await resync(sums, window, offset, to))
        yield [{ tag: 'bad', offset, next, header: scanned.header }]
        offset = next
        break
      }
    }
  }
  if (events.length > 0) yield events
}

/** The next place past `offset` where a record may begin, or the end. */
async function resync(sums: RecordSums, window: ScanWindow, offset: number, to: number): Promise<number> {
  let at = alignUp(offset + 1)
  while (at < to) {
    const found = findHeader(sums, window.bytes, window.base, at)
    if (found !== undefined) return found
    at = Math.max(at, window.headersSearchedTo())
    if (!(await window.load(at, WINDOW_BYTES))) return to
  }
  return to
}

/** A stretch of the file in memory. */
class ScanWindow {
  readonly #read: ScanRange['read']
  readonly #to: number
  #buffer = new Uint8Array(0)
  bytes: Uint8Array = this.#buffer
  base = 0

  readonly #windowBytes: number

  constructor(read: ScanRange['read'], to: number, windowBytes: number) {
    this.#windowBytes = windowBytes
    this.#read = read
    this.#to = to
  }

  /** What is read next is read from the file, from here on. */
  forget(offset: number): void {
    this.base = offset
    this.bytes = this.#buffer.subarray(0, 0)
  }

  /** Holds at least `count` bytes from `offset` on, or as many as there are; false if that is nothing new. */
  async load(offset: number, count: number): Promise<boolean> {
    const want = Math.min(Math.max(count, this.#windowBytes), this.#to - offset)
    if (want <= 0) return false
    const isKnown = offset >= this.base && offset + want <= this.base + this.bytes.length
    if (isKnown) return false
    if (this.#buffer.length < want) this.#buffer = new Uint8Array(want)
    const buffer = this.#buffer
    const filled = await this.#read(offset, buffer.subarray(0, want))
    this.base = offset
    this.bytes = buffer.subarray(0, filled)
    return filled >= Math.min(count, want)
  }

  /** The first aligned place whose header does not lie wholly in the window. */
  headersSearchedTo(): number {
    return alignUp(Math.max(this.base, this.base + this.bytes.length - RECORD_HEADER_BYTES + 1))
  }
}
