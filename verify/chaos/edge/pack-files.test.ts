/** Packs as files on a drive, through the whole service: read, damaged, and replaced while they are read. */
import assert from 'node:assert/strict'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { addressOf } from '@cairn/wire'
import { PMTiles } from 'pmtiles'
import { archiveOf } from '../../../packages/packs/test/archive.ts'
import { type RealEdge, startRealEdge, temporary } from './real-edge.ts'

const VECTORS = new URL('../../vectors/pmtiles/', import.meta.url)
const REPLACEMENTS = 100
/** Each reads as fast as it can; more of them only take the processor from whoever replaces. */
const READERS = process.env['CAIRN_LONG'] === '1' ? 6 : 2
const TILE_BYTES = 40_000

/** Zoom 0 and 1 in the order of PMTiles ids. */
const PLACES = ['0/0/0', '1/0/0', '1/0/1', '1/1/1', '1/1/0'] as const

/** A tile whose every line says which version it is of. */
function stamped(version: number, place: string): Buffer {
  return Buffer.alloc(TILE_BYTES, `${String(version).padStart(4, '0')} ${place};`)
}

function pmtiles(version: number): Uint8Array {
  const tiles = new Map(PLACES.map((place, id) => [id, stamped(version, place)]))
  return archiveOf(tiles, { maxZoom: 1, tileType: 2, perLeaf: 2 })
}

function makeMbtiles(path: string, version: number): void {
  using database = new DatabaseSync(path)
  database.exec(`PRAGMA synchronous = OFF; CREATE TABLE metadata (name TEXT, value TEXT);
    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
    INSERT INTO metadata VALUES ('name', 'made'), ('format', 'png'), ('minzoom', '0'), ('maxzoom', '1');`)
  const insert = database.prepare('INSERT INTO tiles VALUES (?, ?, ?, ?)')
  for (const place of PLACES) {
    const [z = 0, x = 0, y = 0] = place.split('/').map(Number)
    insert.run(z, x, 2 ** z - 1 - y, stamped(version, place))
  }
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer())
}

test('tiles, TileJSON, metadata and the file itself are those of the archive', async () => {
  const fixture = new URL('test_fixture_1.pmtiles', VECTORS)
  await using place = await temporary()
  const path = fileURLToPath(fixture)
  makeMbtiles(join(place.path, 'made.mbtiles'), 1)
  await using edge = await startRealEdge(place.path, [
    { name: 'map', path },
    { name: 'lite', path: join(place.path, 'made.mbtiles') },
  ])
  const file = await readFile(path)
  const reference = new PMTiles({
    getKey: () => path,
    getBytes: async (offset, length) =>
      await Promise.resolve({ data: new Uint8Array(file.subarray(offset, offset + length)).buffer }),
  })
  const theirs = Buffer.from((await reference.getZxy(0, 0, 0))?.data ?? new ArrayBuffer(0))
  const plain = await fetch(`${edge.base}/map/0/0/0.mvt`, { headers: { 'accept-encoding': 'identity' } })
  assert.ok((await bytesOf(plain)).equals(theirs) && theirs.length > 0)
  assert.equal(plain.headers.get('content-type'), 'application/vnd.mapbox-vector-tile')
  const description = (await (await fetch(`${edge.base}/map/tiles.json`)).json()) as Record<string, unknown>
  assert.deepEqual(description['tiles'], [`${edge.base}/map/{z}/{x}/{y}.mvt`])
  assert.deepEqual(await (await fetch(`${edge.base}/map/metadata`)).json(), await reference.getMetadata())
  await theFile(`${edge.base}/map`, file)
  const pinned = await fetch(`${edge.base}/map@${addressOf(file).slice(3)}/0/0/0`)
  assert.match(pinned.headers.get('cache-control') ?? '', /immutable/)
  assert.equal((await fetch(`${edge.base}/map@${'0'.repeat(64)}/0/0/0`)).status, 404)
  for (const each of PLACES)
    assert.ok((await bytesOf(await fetch(`${edge.base}/lite/${each}.png`))).equals(stamped(1, each)), each)
  await theFile(`${edge.base}/lite`, await readFile(join(place.path, 'made.mbtiles')))
})

async function theFile(url: string, file: Buffer): Promise<void> {
  const whole = await fetch(url)
  assert.ok((await bytesOf(whole)).equals(file))
  assert.equal(whole.headers.get('etag'), `"${addressOf(file)}"`)
  const part = await fetch(url, { headers: { range: 'bytes=100-299' } })
  assert.equal(part.status, 206)
  assert.ok((await bytesOf(part)).equals(file.subarray(100, 300)))
}

test('a damaged pack is an error within a second, and the others serve', async () => {
  await using place = await temporary()
  const right = Buffer.from(pmtiles(1))
  const files: Readonly<Record<string, Uint8Array>> = {
    right,
    truncated: right.subarray(0, right.length - 50_000),
    magic: Buffer.concat([Buffer.from('PMTilez'), right.subarray(7)]),
    noise: Buffer.alloc(5000, 'no pack at all '),
    database: Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(4080, 7)]),
    bomb: archiveOf(new Map([[0, gzipSync(Buffer.alloc(64 * 1024 * 1024))]]), { tileCompression: 2, maxZoom: 0 }),
  }
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(place.path, name), bytes)
  const packs = Object.keys(files).map((name) => ({ name, path: join(place.path, name) }))
  await using edge = await startRealEdge(place.path, packs)
  for (const name of Object.keys(files)) {
    const before = process.cpuUsage()
    const answer = await fetch(`${edge.base}/${name}/0/0/0`, { headers: { 'accept-encoding': 'identity' } })
    const body = await bytesOf(answer)
    // Of the processor: what else the machine does is not asked.
    const { user, system } = process.cpuUsage(before)
    assert.ok(user + system < 2_000_000, `${name} took ${user + system} µs`)
    if (name === 'right') assert.ok(body.equals(stamped(1, '0/0/0')))
    else assert.equal(answer.status, 502, `${name}: ${body.toString().slice(0, 200)}`)
  }
  assert.ok((await bytesOf(await fetch(`${edge.base}/right/1/1/1`))).equals(stamped(1, '1/1/1')))
})

/** Replaces the file by renaming over it, opens it again, and so on. */
async function replaceOften(
  edge: RealEdge,
  path: string,
  make: (file: string, version: number) => Promise<void>,
  times: number,
) {
  for (let version = 2; version <= times; version += 1) {
    await make(`${path}.next`, version)
    await rename(`${path}.next`, path)
    await edge.remount()
    // Between two replacements there is one file, and it is the new one.
    const answer = await fetch(`${edge.base}/map/0/0/0`)
    const body = await bytesOf(answer)
    assert.equal(answer.status, 200, body.toString().slice(0, 200))
    assert.ok(body.equals(stamped(version, '0/0/0')), `version ${version}`)
  }
}

interface Seen {
  readonly versions: Set<string>
  refused: number
}

/** Reads tiles and the file until told; every answer is of one version and is what its tag says. */
async function readOn(edge: RealEdge, reader: number, seen: Seen, isOver: () => boolean): Promise<void> {
  for (let turn = reader; !isOver(); turn += 1) {
    const place = PLACES[turn % PLACES.length] ?? '0/0/0'
    const isFile = turn % 7 === 0
    const answer = await fetch(isFile ? `${edge.base}/map` : `${edge.base}/map/${place}`)
    const body = await bytesOf(answer)
    if (answer.status === 503) {
      seen.refused += 1
      continue
    }
    assert.equal(answer.status, 200, body.toString().slice(0, 200))
    assert.equal(answer.headers.get('etag'), `"${addressOf(body)}"`)
    if (isFile) continue
    const version = body.toString('latin1', 0, 4)
    assert.ok(body.equals(stamped(Number(version), place)), `mixed at ${place}`)
    seen.versions.add(version)
  }
}

for (const [format, times, make] of [
  ['PMTiles', REPLACEMENTS, async (file: string, version: number) => await writeFile(file, pmtiles(version))],
  [
    'MBTiles',
    process.env['CAIRN_LONG'] === '1' ? REPLACEMENTS : REPLACEMENTS / 5,
    async (file: string, version: number) => {
      await rm(file, { force: true })
      makeMbtiles(file, version)
    },
  ],
] as const) {
  test(`a ${format} pack replaced ${times} times while it is read: no answer is of two versions`, async (t) => {
    await using place = await temporary()
    const path = join(place.path, 'map')
    await make(path, 1)
    await using edge = await startRealEdge(place.path, [{ name: 'map', path }])
    const seen: Seen = { versions: new Set(), refused: 0 }
    let isOver = false
    const readers = Array.from({ length: READERS }, async (_, at) => await readOn(edge, at, seen, () => isOver))
    const replaced = replaceOften(edge, path, make, times).finally(() => {
      isOver = true
    })
    await Promise.all([replaced, ...readers])
    t.diagnostic(`${seen.versions.size} versions seen, ${seen.refused} answers were 503`)
    assert.ok(seen.versions.size > 5)
    if (format === 'PMTiles') assert.equal(seen.refused, 0)
    assert.ok((await bytesOf(await fetch(`${edge.base}/map/0/0/0`))).equals(stamped(times, '0/0/0')))
  })
}

test('an MBTiles pack replaced by renaming, and nobody says so: it is opened again by itself, and never of two versions', async () => {
  await using place = await temporary()
  const path = join(place.path, 'map')
  makeMbtiles(path, 1)
  await using edge = await startRealEdge(place.path, [{ name: 'map', path }])
  const ask = async (tile: string): Promise<{ status: number; body: Buffer; retryAfter: string | null }> => {
    const answer = await fetch(`${edge.base}/map/${tile}`)
    return { status: answer.status, body: await bytesOf(answer), retryAfter: answer.headers.get('retry-after') }
  }
  assert.ok((await ask('0/0/0')).body.equals(stamped(1, '0/0/0')))
  makeMbtiles(`${path}.next`, 2)
  await rename(`${path}.next`, path)
  const refused = await ask('1/0/0')
  assert.deepEqual([refused.status, refused.retryAfter], [503, '1'])
  for (let isNew = false; !isNew; ) {
    const { status, body } = await ask('1/0/0')
    isNew = status === 200
    if (isNew) assert.ok(body.equals(stamped(2, '1/0/0')))
    else assert.equal(status, 503)
  }
  // What was read before is of the old pack, and is not served for the new one.
  assert.ok((await ask('0/0/0')).body.equals(stamped(2, '0/0/0')))
  await writeFile(path, 'no database any more')
  for (let turn = 0; turn < 3; turn += 1) assert.equal((await ask('1/1/1')).status, 503)
})
