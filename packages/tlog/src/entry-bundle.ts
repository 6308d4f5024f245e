/**
 * Entry bundles (C2SP tlog-tiles): up to 256 entries in one file, each after its length in two big-endian bytes.
 *
 *   00 05 h e l l o   00 00   00 03 f o o        three entries, the second of no bytes
 */

import { CairnError } from '@cairn/kernel'
import { TILE_WIDTH } from './tile.ts'

/** What two bytes of length can say. */
export const MAX_ENTRY_BYTES = 65_535
const LENGTH_BYTES = 2

export function encodeEntryBundle(entries: readonly Uint8Array[]): Uint8Array {
  if (entries.length === 0 || entries.length > TILE_WIDTH)
    throw malformed(`has ${entries.length} entries, not 1 to 256`)
  const oversize = entries.find(({ length }) => length > MAX_ENTRY_BYTES)
  if (oversize !== undefined)
    throw malformed(`has an entry of ${oversize.length} bytes; ${MAX_ENTRY_BYTES} is the most`)
  const total = entries.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0)
  const bytes = new Uint8Array(total)
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const entry of entries) {
    view.setUint16(at, entry.length)
    bytes.set(entry, at + LENGTH_BYTES)
    at += LENGTH_BYTES + entry.length
  }
  return bytes
}

/** The `width` entries of a bundle, as views of `bytes`; refuses one with more, fewer or a part of one. */
export function decodeEntryBundle(bytes: Uint8Array, width: number): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    if (entries.length === width || at + LENGTH_BYTES > bytes.length) throw malformed(`is not ${width} whole entries`)
    const start = at + LENGTH_BYTES
    at = start + view.getUint16(at)
    if (at > bytes.length) throw malformed('ends inside an entry')
    entries.push(bytes.subarray(start, at))
  }
  if (entries.length !== width) throw malformed(`has ${entries.length} entries, not ${width}`)
  return entries
}

function malformed(why: string): CairnError {
  return new CairnError('Malformed', `The entry bundle ${why}.`)
}
