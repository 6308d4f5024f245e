/** Whatever a file claims, it is answered with an error in time, and nothing of it is believed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { CairnError } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import fc from 'fast-check'
import { tileOf } from '../src/pmtiles/format.ts'
import { archive, archiveOf, directory, varint, type WrittenEntry } from './archive.ts'
import { openBytes, within } from './packs.ts'

const EVERY_TILE = Array.from({ length: 85 }, (_, id) => tileOf(id))

/** Opens, reads every tile, the metadata and all directories. Only `pack_corrupt` may come of it. */
async function readAll(bytes: Uint8Array): Promise<'read' | 'refused'> {
  const before = process.cpuUsage()
  try {
    const { pack, runtime } = await openBytes(bytes)
    try {
      for (const { z, x, y } of EVERY_TILE) await pack.tile(z, x, y, within(runtime))
      await pack.metadata(within(runtime))
      await pack.verify(within(runtime), () => {})
      return 'read'
    } finally {
      await pack.close()
      assert.deepEqual(leaks(runtime), [])
    }
  } catch (error) {
    assert.ok(error instanceof CairnError && error.code === 'pack_corrupt', String(error))
    return 'refused'
  } finally {
    // Of the processor: what else the machine does is not asked.
    const { user, system } = process.cpuUsage(before)
    assert.ok(user + system < 2_000_000, 'it took more than two seconds')
  }
}

const TILES = new Map(
  Array.from({ length: 60 }, (_, at) => [at, Uint8Array.from({ length: 8 + at }, () => at)] as const),
)
const RIGHT = archiveOf(TILES, { maxZoom: 3, perLeaf: 7 })
const tile = { id: 0, run: 1, offset: 0, length: 4 }
const madeOf = (entries: readonly WrittenEntry[], leaves?: Uint8Array): Uint8Array =>
  archive({ root: directory(entries), tiles: new Uint8Array(16), ...(leaves === undefined ? {} : { leaves }) })
const rootOf = (root: readonly number[]): Uint8Array =>
  archive({ root: Uint8Array.from(root), tiles: new Uint8Array(16) })

/** The first byte of the header's number `at`, changed. */
function withHeader(change: (view: DataView) => void): Uint8Array {
  const bytes = RIGHT.slice()
  change(new DataView(bytes.buffer))
  return bytes
}

const loop = gzipSync(directory([{ id: 0, run: 0, offset: 0, length: 40 }]))
const bomb = gzipSync(new Uint8Array(64 * 1024 * 1024))

const CASES: readonly (readonly [string, Uint8Array])[] = [
  ['nothing at all', new Uint8Array()],
  ['a wrong magic', withHeader((view) => view.setUint8(0, 0x51))],
  ['another version', withHeader((view) => view.setUint8(7, 2))],
  ['an unknown coding', withHeader((view) => view.setUint8(97, 9))],
  ['directories that are not coded as they say', withHeader((view) => view.setUint8(97, 3))],
  ['zooms the wrong way round', withHeader((view) => view.setUint8(100, 9))],
  ['a zoom too deep to count', withHeader((view) => view.setUint8(101, 60))],
  ['a root directory in the header', withHeader((view) => view.setBigUint64(8, 12n, true))],
  ['a root directory far away', withHeader((view) => view.setBigUint64(8, 20_000n, true))],
  ['a length that overflows', withHeader((view) => view.setBigUint64(16, 0xffff_ffff_ffff_ffffn, true))],
  ['tile data past the end of the file', withHeader((view) => view.setBigUint64(64, 1n << 40n, true))],
  ['leaves past the end of the file', withHeader((view) => view.setBigUint64(48, 1n << 30n, true))],
  ['more entries than bytes', rootOf([...varint(1_000_000_000), 1, 1, 1])],
  ['a number that does not end', rootOf([1, ...Array.from({ length: 30 }, () => 0x80)])],
  ['a number too large', rootOf([1, ...Array.from({ length: 8 }, () => 0xff), 0x7f, 1, 1, 1])],
  ['a directory cut short', rootOf([2, 1, 1, 1])],
  ['bytes after the last entry', rootOf([1, 0, 1, 4, 1, 7, 7])],
  ['a first entry that follows on nothing', rootOf([1, 0, 1, 4, 0])],
  ['two entries for one tile', madeOf([tile, { ...tile, id: 0 }])],
  [
    'runs that overlap',
    madeOf([
      { ...tile, run: 5 },
      { ...tile, id: 3 },
    ]),
  ],
  ['a run past the last tile', madeOf([{ ...tile, run: 400 }])],
  ['a tile outside its section', madeOf([{ ...tile, offset: 13 }])],
  ['a tile without bytes', madeOf([{ ...tile, length: 0 }])],
  ['a leaf outside its section', madeOf([{ ...tile, run: 0, offset: 5 }])],
  ['a leaf that points to itself', madeOf([{ id: 0, run: 0, offset: 0, length: loop.length }], loop)],
  ['a leaf that opens to 64 MiB', madeOf([{ id: 0, run: 0, offset: 0, length: bomb.length }], bomb)],
  [
    'metadata that opens to 64 MiB',
    archive({ root: directory([tile]), tiles: new Uint8Array(16), metadata: new Uint8Array(64 << 20) }),
  ],
  [
    'metadata that is no JSON',
    archive({ root: directory([tile]), tiles: new Uint8Array(16), metadata: Buffer.from('{') }),
  ],
  [
    'metadata that is a list',
    archive({ root: directory([tile]), tiles: new Uint8Array(16), metadata: Buffer.from('[]') }),
  ],
]

test('the archive they are made from is right', async () => {
  assert.equal(await readAll(RIGHT), 'read')
})

for (const [name, bytes] of CASES) {
  test(`refused: ${name}`, async () => {
    assert.equal(await readAll(bytes), 'refused')
  })
}

test('cut at every length', async (t) => {
  let refused = 0
  for (let length = 0; length < RIGHT.length; length += 5) {
    assert.equal(await readAll(RIGHT.subarray(0, length)), 'refused', `${length} bytes`)
    refused += 1
  }
  t.diagnostic(`${refused} lengths`)
})

test('any few bytes changed: read or refused, in time, and never anything else', async (t) => {
  const counts = { read: 0, refused: 0 }
  const change = fc.record({ at: fc.nat({ max: RIGHT.length - 1 }), byte: fc.integer({ min: 0, max: 255 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      const bytes = RIGHT.slice()
      for (const { at, byte } of changes) bytes[at] = byte
      const outcome = await readAll(bytes)
      counts[outcome] += 1
    }),
    { numRuns: 400 },
  )
  t.diagnostic(`${counts.refused} refused, ${counts.read} read`)
  assert.ok(counts.refused > 100)
})
