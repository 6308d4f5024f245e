/** A PMTiles archive of a few PNG tiles, all in its root directory, nothing in it compressed. */

const HEADER_BYTES = 127
/** Small numbers only, so that each is one byte of a varint. */
const NUMBER_MAX = 127

/** Tile ids from 0 on, in order: zoom 0 is 0, zoom 1 is 1 to 4. */
export function samplePack(tiles: readonly string[], maxZoom: number): Uint8Array {
  const data = tiles.map((text) => Buffer.from(text))
  const lengths = data.map(({ length }) => length)
  const deltas = tiles.map((_, id) => Math.min(id, 1))
  const runs = tiles.map(() => 1)
  // An offset of 0 says: right after the one before.
  const offsets = tiles.map((_, id) => (id === 0 ? 1 : 0))
  const numbers = [tiles.length, ...deltas, ...runs, ...lengths, ...offsets]
  if (numbers.some((number) => number > NUMBER_MAX)) throw new RangeError('The sample is too large for its writer.')
  const sections = [Buffer.from(numbers), Buffer.from('{"name":"sample"}'), Buffer.alloc(0), Buffer.concat(data)]
  const header = Buffer.alloc(HEADER_BYTES)
  header.write('PMTiles', 'latin1')
  header[7] = 3
  let at = HEADER_BYTES
  for (const [index, { length }] of sections.entries()) {
    header.writeBigUInt64LE(BigInt(at), 8 + index * 16)
    header.writeBigUInt64LE(BigInt(length), 16 + index * 16)
    at += length
  }
  // Clustered; directories and tiles not compressed; PNG; zooms.
  header.set([1, 1, 1, 2, 0, maxZoom], 96)
  for (const [index, degrees] of [-180, -85, 180, 85].entries()) header.writeInt32LE(degrees * 1e7, 102 + index * 4)
  return Buffer.concat([header, ...sections])
}
