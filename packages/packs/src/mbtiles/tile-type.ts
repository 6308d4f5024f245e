/** What kind of bytes the tiles of an MBTiles file are: as its metadata says, and where that says nothing, as they look. */
import { TILE_TYPES, type TileTypeName } from '../pack.ts'

/** As makers of such files write it: a word, or a media type. */
const BY_FORMAT: ReadonlyMap<string, TileTypeName> = new Map<string, TileTypeName>([
  ['pbf', 'mvt'],
  ['mvt', 'mvt'],
  ['application/x-protobuf', 'mvt'],
  ['mlt', 'mlt'],
  ['png', 'png'],
  ['jpg', 'jpeg'],
  ['jpeg', 'jpeg'],
  ['webp', 'webp'],
  ['avif', 'avif'],
  ['json', 'json'],
  ['geojson', 'json'],
  ...Object.entries(TILE_TYPES).map(([name, { mediaType }]) => [mediaType, name as TileTypeName] as const),
])

/** The type that the metadata row `format` names. */
export function declaredType(format: unknown): TileTypeName | undefined {
  const type = typeof format === 'string' ? BY_FORMAT.get(format.trim().toLowerCase()) : undefined
  return type === 'unknown' ? undefined : type
}

/** How many bytes `sniffedType` looks at. */
export const SNIFFED_BYTES = 16

const ascii = (bytes: Uint8Array, from: number, text: string): boolean =>
  new TextDecoder('latin1').decode(bytes.subarray(from, from + text.length)) === text

/** What begins like this. A compressed tile is a vector tile: images and JSON are not stored that way. */
export function sniffedType(bytes: Uint8Array): TileTypeName {
  const [first, second, third] = bytes
  if (first === 0x89 && ascii(bytes, 1, 'PNG')) return 'png'
  if (first === 0xff && second === 0xd8 && third === 0xff) return 'jpeg'
  if (ascii(bytes, 0, 'RIFF') && ascii(bytes, 8, 'WEBP')) return 'webp'
  if (ascii(bytes, 4, 'ftypavi')) return 'avif'
  if (first === 0x1f && second === 0x8b) return 'mvt'
  if (first === 0x28 && second === 0xb5 && third === 0x2f && bytes[3] === 0xfd) return 'mvt'
  // A layer, which is all that a vector tile consists of.
  if (first === 0x1a && bytes.length > 2) return 'mvt'
  return first === 0x7b || first === 0x5b ? 'json' : 'unknown'
}
