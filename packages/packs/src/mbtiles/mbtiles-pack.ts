/**
 * Reads the tiles of an MBTiles file and finds their type. The file is a SQLite database from a stranger, so every
 * query runs in another process, which is killed at the deadline. `tiles` may be a table or a view; rows count from
 * the south.
 */
import { CairnError, type Deadline } from '@cairn/kernel'
import { type Disk, type DiskFile, IDENTIFY_FILE, QUERY_SQLITE, type SqliteRow, type Workers } from '@cairn/platform'
import {
  corrupt,
  isTilePlace,
  type MapTile,
  METADATA_BYTES_MAX,
  type Pack,
  type PackCount,
  type PackFacts,
  type ReadOptions,
  TILE_BYTES_MAX,
  TILE_TYPES,
  type TileCoding,
  type TileTypeName,
  ZOOM_MAX,
} from '../pack.ts'

// The type of the tiles: as the metadata says, else as their first bytes show.

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
function declaredType(format: unknown): TileTypeName | undefined {
  const type = typeof format === 'string' ? BY_FORMAT.get(format.trim().toLowerCase()) : undefined
  return type === 'unknown' ? undefined : type
}

/** How many bytes `sniffedType` looks at. */
const SNIFFED_BYTES = 16

const ascii = (bytes: Uint8Array, from: number, text: string): boolean =>
  new TextDecoder('latin1').decode(bytes.subarray(from, from + text.length)) === text

/** The type of a tile that begins like this. A compressed one is a vector tile: images and JSON are not stored that way. */
function sniffedType(bytes: Uint8Array): TileTypeName {
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

const MAGIC = new TextEncoder().encode('SQLite format 3\0')
/** The byte that says how the file is to be read; 2 means that part of it may lie in another file. */
const READ_VERSION_AT = 19
const WITH_WAL = 2

const METADATA_ROWS_MAX = 1000
// What is too large is not even read into memory.
const TILE_SQL = `SELECT length(tile_data) AS bytes, CASE WHEN length(tile_data) <= ${TILE_BYTES_MAX} THEN tile_data END AS data
  FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ? LIMIT 1`
const METADATA_SQL = `SELECT name, CASE WHEN length(value) <= ${METADATA_BYTES_MAX} THEN value END AS value FROM metadata`
const ZOOMS_SQL = 'SELECT min(zoom_level) AS low, max(zoom_level) AS high FROM tiles'
const COUNT_SQL = 'SELECT count(*) AS tiles FROM tiles'
const CHECK_SQL = 'PRAGMA quick_check(1)'
/** Some of a tile that has bytes. */
const SNIFF_SQL = `SELECT substr(tile_data, 1, ${SNIFFED_BYTES}) AS head FROM tiles WHERE length(tile_data) > 0 LIMIT 1`
/** Tiles that no request can name. */
const PLACES_SQL = `SELECT zoom_level AS z, tile_column AS x, tile_row AS y FROM tiles
  WHERE typeof(zoom_level) <> 'integer' OR typeof(tile_column) <> 'integer' OR typeof(tile_row) <> 'integer'
     OR zoom_level NOT BETWEEN 0 AND 30 OR tile_column NOT BETWEEN 0 AND (1 << zoom_level) - 1
     OR tile_row NOT BETWEEN 0 AND (1 << zoom_level) - 1 LIMIT 1`
/** Over all tiles, as the tools that write the metadata row \`agg_tiles_hash\` do. */
const SUM_SQL = `SELECT md5_concat(CAST(zoom_level AS text), CAST(tile_column AS text), CAST(tile_row AS text), tile_data
  ORDER BY zoom_level, tile_column, tile_row) AS sum FROM tiles`
/** A table or view of the same tools that has a sum for each tile. */
const HASHED_SQL = `SELECT count(*) AS found FROM sqlite_master WHERE name = 'tiles_with_hash'`
const TILE_SUMS_SQL = `SELECT zoom_level AS z, tile_column AS x, tile_row AS y FROM tiles_with_hash
  WHERE tile_data IS NOT NULL AND lower(tile_hash) <> md5(tile_data) LIMIT 1`

export interface MbtilesDependencies {
  readonly disk: Disk
  readonly isolated: Workers
}

type Metadata = Readonly<Record<string, unknown>>

/** A path, and what was there when the pack was opened: SQLite opens it anew for every question. */
interface SamePath {
  readonly path: string
  readonly identity: string
}

/** Opens the file; `pack_corrupt` if it is no MBTiles, or cannot be read without writing beside it. */
export async function openMbtiles(
  machine: MbtilesDependencies,
  path: string,
  options: ReadOptions,
): Promise<MbtilesPack> {
  const identity = await machine.isolated.run(IDENTIFY_FILE, path, options)
  await using opening = new AsyncDisposableStack()
  const file = opening.use(await machine.disk.open(path, { mode: 'read' }))
  await checkHead(file)
  // The questions hold the path against the identity again: the file opened here is the one they were answered from.
  const place = { path, identity }
  const metadata = await readMetadata(machine, place, options)
  const zooms = zoomsOf(metadata) ?? (await askZooms(machine, place, options))
  const tileType = declaredType(metadata['format']) ?? (await askType(machine, place, options))
  opening.move()
  return new MbtilesPack(machine, place, file, metadata, factsOf(metadata, zooms, tileType))
}

export class MbtilesPack implements Pack {
  readonly facts: PackFacts
  readonly file: DiskFile
  readonly #machine: MbtilesDependencies
  readonly #path: SamePath
  readonly #metadata: Metadata

  constructor(machine: MbtilesDependencies, path: SamePath, file: DiskFile, metadata: Metadata, facts: PackFacts) {
    this.facts = facts
    this.file = file
    this.#machine = machine
    this.#path = path
    this.#metadata = metadata
  }

  async tile(z: number, x: number, y: number, options: ReadOptions): Promise<MapTile | undefined> {
    const { minZoom, maxZoom } = this.facts
    if (z < minZoom || z > maxZoom || !isTilePlace(z, x, y)) return undefined
    const [row] = await ask(this.#machine, this.#path, { sql: TILE_SQL, parameters: [z, x, 2 ** z - 1 - y] }, options)
    if (row === undefined || row['bytes'] === null) return undefined
    if (Number(row['bytes']) > TILE_BYTES_MAX) throw corrupt(`Tile ${z}/${x}/${y} has ${Number(row['bytes'])} bytes.`)
    const { data } = row
    if (!(data instanceof Uint8Array)) throw corrupt(`Tile ${z}/${x}/${y} is not stored as bytes.`)
    return { bytes: data, coding: codingOf(data) }
  }

  async metadata(): Promise<Metadata> {
    return await Promise.resolve(this.#metadata)
  }

  /** Lets SQLite check its own structure, and counts the tiles; with `contents` their places and sums too. */
  async verify(
    options: ReadOptions,
    onStep: () => void,
    depth: 'structure' | 'contents' = 'structure',
  ): Promise<PackCount> {
    const check = await this.#first(CHECK_SQL, options)
    const verdict = Object.values(check ?? {})[0]
    if (verdict !== 'ok') throw corrupt(`The database is damaged: ${String(verdict)}`)
    onStep()
    const count = await this.#first(COUNT_SQL, options)
    if (depth === 'contents') await this.#verifyContents(options, onStep)
    return { tiles: Number(count?.['tiles'] ?? 0) }
  }

  async #verifyContents(options: ReadOptions, onStep: () => void): Promise<void> {
    const misplaced = await this.#first(PLACES_SQL, options)
    if (misplaced !== undefined) throw corrupt(`${placeText(misplaced)} cannot be: a zoom has 2^zoom columns and rows.`)
    onStep()
    const hashed = await this.#first(HASHED_SQL, options)
    const changed = Number(hashed?.['found'] ?? 0) > 0 ? await this.#first(TILE_SUMS_SQL, options) : undefined
    if (changed !== undefined) throw corrupt(`${placeText(changed)} is not the one its tile_hash is of.`)
    onStep()
    const { agg_tiles_hash: wanted, hash_algorithm: algorithm = 'md5' } = this.#metadata
    // By another algorithm it is a sum that cannot be judged here.
    if (typeof wanted !== 'string' || String(algorithm).toLowerCase() !== 'md5') return
    const sum = String((await this.#first(SUM_SQL, options))?.['sum'])
    if (sum !== wanted.toLowerCase())
      throw corrupt(`The tiles are not those that were written: agg_tiles_hash is ${wanted}, theirs is ${sum}.`)
  }

  async #first(sql: string, options: ReadOptions): Promise<SqliteRow | undefined> {
    const [row] = await ask(this.#machine, this.#path, { sql, parameters: [] }, options)
    return row
  }

  async close(): Promise<void> {
    await this.file.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

async function checkHead(file: DiskFile): Promise<void> {
  const head = new Uint8Array(READ_VERSION_AT + 1)
  const read = await file.read(0, head)
  if (read < head.length || MAGIC.some((byte, at) => head[at] !== byte))
    throw corrupt('The file is no SQLite database.')
  if (head[READ_VERSION_AT] === WITH_WAL) {
    throw corrupt('The database keeps a write-ahead log. Run `PRAGMA journal_mode = DELETE` on it first.')
  }
}

async function ask(
  { isolated }: MbtilesDependencies,
  { path, identity }: SamePath,
  {
    sql,
    parameters,
    rowsMax = 1,
  }: { readonly sql: string; readonly parameters: readonly number[]; readonly rowsMax?: number },
  { deadline, signal }: { readonly deadline: Deadline; readonly signal?: AbortSignal | undefined },
): Promise<SqliteRow[]> {
  try {
    return await isolated.run(QUERY_SQLITE, { path, sql, parameters, rowsMax, file: identity }, { deadline, signal })
  } catch (error) {
    if (error instanceof CairnError && error.kind === 'Integrity') throw corrupt(error.message, error)
    throw error
  }
}

async function readMetadata(machine: MbtilesDependencies, path: SamePath, options: ReadOptions): Promise<Metadata> {
  const query = { sql: METADATA_SQL, parameters: [], rowsMax: METADATA_ROWS_MAX }
  const rows = await ask(machine, path, query, options)
  const pairs = rows.flatMap(({ name, value }) =>
    typeof name === 'string' && typeof value === 'string' ? [[name, value] as const] : [],
  )
  const { json, ...plain }: Record<string, string> = Object.fromEntries(pairs)
  return { ...plain, ...parseJson(json) }
}

/** The names of layers and their fields are a JSON text within the table. */
function parseJson(text: string | undefined): Metadata {
  if (text === undefined) return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Metadata) : {}
  } catch (error) {
    throw corrupt('The metadata row `json` is not JSON.', error)
  }
}

interface Zooms {
  readonly minZoom: number
  readonly maxZoom: number
}

function zoomsOf(metadata: Metadata): Zooms | undefined {
  const [minZoom, maxZoom] = [numberOf(metadata['minzoom']), numberOf(metadata['maxzoom'])]
  return minZoom === undefined || maxZoom === undefined ? undefined : checkZooms({ minZoom, maxZoom })
}

async function askZooms(machine: MbtilesDependencies, path: SamePath, options: ReadOptions): Promise<Zooms> {
  const [row] = await ask(machine, path, { sql: ZOOMS_SQL, parameters: [] }, options)
  return checkZooms({ minZoom: Number(row?.['low'] ?? 0), maxZoom: Number(row?.['high'] ?? 0) })
}

async function askType(machine: MbtilesDependencies, path: SamePath, options: ReadOptions): Promise<TileTypeName> {
  const [row] = await ask(machine, path, { sql: SNIFF_SQL, parameters: [] }, options)
  const head = row?.['head']
  return head instanceof Uint8Array ? sniffedType(head) : 'unknown'
}

/** As the file numbers it, rows from the south. */
function placeText({ z, x, y }: SqliteRow): string {
  return `The tile of zoom_level ${String(z)}, tile_column ${String(x)}, tile_row ${String(y)}`
}

function checkZooms({ minZoom, maxZoom }: Zooms): Zooms {
  const isRight = [minZoom, maxZoom].every(Number.isSafeInteger) && minZoom >= 0 && minZoom <= maxZoom
  if (!isRight || maxZoom > ZOOM_MAX) throw corrupt(`The zooms ${minZoom} to ${maxZoom} cannot be.`)
  return { minZoom, maxZoom }
}

function factsOf(metadata: Metadata, { minZoom, maxZoom }: Zooms, tileType: TileTypeName): PackFacts {
  const [west = -180, south = -85.051129, east = 180, north = 85.051129] = numbersOf(metadata['bounds'])
  const [longitude = (west + east) / 2, latitude = (south + north) / 2, zoom = minZoom] = numbersOf(metadata['center'])
  const places = { bounds: [west, south, east, north], center: [longitude, latitude, zoom] } as const
  return { format: 'mbtiles', tileType, minZoom, maxZoom, ...places }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : undefined
}

/** `1.5,2,3` as numbers; anything else as nothing. */
function numbersOf(value: unknown): number[] {
  const numbers = typeof value === 'string' ? value.split(',').map(Number) : []
  return numbers.every(Number.isFinite) ? numbers : []
}

/** Nothing in the file says how a tile is coded; its first bytes do. */
function codingOf(bytes: Uint8Array): TileCoding {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return 'gzip'
  return bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd ? 'zstd' : 'identity'
}
