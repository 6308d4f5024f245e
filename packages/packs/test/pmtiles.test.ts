import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { leaks } from '@cairn/kernel/testing'
import fc from 'fast-check'
import { Compression, PMTiles, type RangeResponse, type Source } from 'pmtiles'
import { tileOf } from '../src/pmtiles/format.ts'
import type { MapTile } from '../src/testing.ts'
import { archiveOf } from './archive.ts'
import { openBytes, within } from './packs.ts'

const VECTORS = new URL('../../../verify/vectors/pmtiles/', import.meta.url)

async function vector(name: string): Promise<Uint8Array> {
  return await readFile(new URL(name, VECTORS))
}

/** The format author's reader, over the same bytes. */
class BytesSource implements Source {
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  getKey(): string {
    return 'bytes'
  }

  async getBytes(offset: number, length: number): Promise<RangeResponse> {
    const data = Uint8Array.from(this.#bytes.subarray(offset, offset + length)).buffer
    return await Promise.resolve({ data })
  }
}

function plain({ bytes, coding }: MapTile): Uint8Array {
  return coding === 'gzip' ? gunzipSync(bytes) : bytes
}

/** Every tile of every zoom the header names is the same to both readers; says how many there are. */
async function assertSameTiles(bytes: Uint8Array): Promise<number> {
  const { pack, runtime } = await openBytes(bytes)
  const reference = new PMTiles(new BytesSource(bytes))
  const header = await reference.getHeader()
  const { minZoom, maxZoom } = pack.facts
  assert.deepEqual([minZoom, maxZoom], [header.minZoom, header.maxZoom])
  assert.deepEqual(pack.facts.bounds, [header.minLon, header.minLat, header.maxLon, header.maxLat])
  let found = 0
  for (let z = minZoom; z <= maxZoom; z += 1) {
    for (let x = 0; x < 2 ** z; x += 1) {
      for (let y = 0; y < 2 ** z; y += 1) {
        const tile = await pack.tile(z, x, y, within(runtime))
        const other = await reference.getZxy(z, x, y)
        assert.equal(tile === undefined, other === undefined, `${z}/${x}/${y}`)
        if (tile === undefined || other === undefined) continue
        assert.deepEqual(Buffer.from(plain(tile)), Buffer.from(other.data), `${z}/${x}/${y}`)
        if (header.tileCompression === Compression.Gzip) assert.equal(tile.coding, 'gzip')
        found += 1
      }
    }
  }
  assert.deepEqual(await pack.metadata(within(runtime)), await reference.getMetadata())
  const { tiles } = await pack.verify(within(runtime), () => {})
  assert.equal(tiles, found)
  await pack.close()
  assert.deepEqual(leaks(runtime), [])
  return found
}

for (const [name, tiles] of [
  ['test_fixture_1.pmtiles', 1],
  ['test_fixture_2.pmtiles', 1],
  ['test_fixture_mlt.pmtiles', 0],
] as const) {
  test(`${name} reads the same as with the format author's reader`, async () => {
    assert.equal(await assertSameTiles(await vector(name)), tiles)
  })
}

for (const name of ['empty.pmtiles', 'invalid.pmtiles', 'invalid_v4.pmtiles']) {
  test(`${name} is refused`, async () => {
    await assert.rejects(openBytes(await vector(name)), { code: 'pack_corrupt' })
  })
}

const generated = fc.record({
  tiles: fc.dictionary(fc.integer({ min: 0, max: 340 }).map(String), fc.uint8Array({ minLength: 1, maxLength: 40 }), {
    minKeys: 1,
    maxKeys: 60,
  }),
  /** This many neighbours share the bytes of the tile before them. */
  repeats: fc.integer({ min: 0, max: 3 }),
  perLeaf: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
  inner: fc.constantFrom(1, 2),
})

test("generated archives, with runs and with leaves, read the same as with the format author's reader", async (t) => {
  const counts: number[] = []
  await fc.assert(
    fc.asyncProperty(generated, async ({ tiles, repeats, perLeaf, inner }) => {
      const all = new Map<number, Uint8Array>()
      for (const [id, bytes] of Object.entries(tiles)) {
        for (let next = 0; next <= repeats; next += 1) if (Number(id) + next <= 340) all.set(Number(id) + next, bytes)
      }
      const options = { inner, ...(perLeaf === undefined ? {} : { perLeaf }) }
      counts.push(await assertSameTiles(archiveOf(all, options)))
    }),
    { numRuns: 60 },
  )
  t.diagnostic(`${counts.reduce((sum, count) => sum + count, 0)} tiles compared`)
})

test('a tile that cannot be is nowhere, and no error', async () => {
  const { pack, runtime } = await openBytes(archiveOf(new Map([[0, Uint8Array.of(1)]])))
  for (const [z, x, y] of [
    [5, 0, 0],
    [1, 2, 0],
    [1, 0, -1],
    [0.5, 0, 0],
    [99, 0, 0],
    [Number.NaN, 0, 0],
  ] as const) {
    assert.equal(await pack.tile(z, x, y, within(runtime)), undefined)
  }
  await pack.close()
})

test('many leaves are read in turn with only some of them kept', async () => {
  const tiles = new Map(Array.from({ length: 300 }, (_, id) => [id, Uint8Array.of(id & 255, id >> 8)] as const))
  const { pack, runtime } = await openBytes(archiveOf(tiles, { perLeaf: 1 }))
  for (let round = 0; round < 2; round += 1) {
    for (const [id, bytes] of tiles) {
      const { z, x, y } = tileOf(id)
      assert.deepEqual((await pack.tile(z, x, y, within(runtime)))?.bytes, bytes)
    }
  }
  await pack.close()
})
