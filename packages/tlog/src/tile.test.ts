import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseTilePath, type Tile, tilePath } from './index.ts'
import { tileIn } from './testing.ts'

const tiles: fc.Arbitrary<Tile> = fc
  .tuple(
    fc.oneof(fc.constant('entries' as const), fc.integer({ min: 0, max: 63 })),
    fc.oneof(fc.nat(2000), fc.maxSafeNat()),
    fc.integer({ min: 1, max: 256 }),
  )
  .map(([level, index, width]) => ({ level, index, width }))

describe('tile paths', () => {
  test('are spelled as in C2SP tlog-tiles', () => {
    assert.equal(tilePath({ level: 0, index: 1_234_067, width: 256 }), 'tile/0/x001/x234/067')
    assert.equal(tilePath({ level: 2, index: 5, width: 1 }), 'tile/2/005.p/1')
    assert.equal(tilePath({ level: 'entries', index: 1000, width: 255 }), 'tile/entries/x001/000.p/255')
  })

  test('name exactly the tile they were made from', () => {
    fc.assert(
      fc.property(tiles, (tile) => {
        assert.deepEqual(parseTilePath(tilePath(tile)), tile)
      }),
      { numRuns: 2000 },
    )
  })

  test('of any text, either name a tile spelled just so, or are refused', () => {
    const pieces = fc.constantFrom(
      'tile',
      '/',
      'x',
      '0',
      '00',
      '000',
      '001',
      '1',
      '63',
      '64',
      '.p',
      'entries',
      '256',
      '-',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const path = parts.join('')
        try {
          assert.equal(tilePath(parseTilePath(path)), path)
        } catch (error) {
          assert.equal((error as Error).name, 'CairnError')
        }
      }),
      { numRuns: 5000 },
    )
  })

  test('in any other spelling are refused', () => {
    const paths = [
      'tile/00/000',
      'tile/64/000',
      'tile/-1/000',
      'tile/0/0',
      'tile/0/0000',
      'tile/0/x000/000',
      'tile/0/x001/x234/x067',
      'tile/0/001/234',
      'tile/0/000.p/0',
      'tile/0/000.p/01',
      'tile/0/000.p/256',
      'tile/0/000.p/',
      'tile/0/000.p',
      '/tile/0/000',
      'tile/0/000/',
      'tile/0/000\n',
      'tile/data/000',
      'tile/0/x999/x999/x999/x999/x999/999',
      `tile/0/${'x000/'.repeat(40)}000`,
    ]
    for (const path of paths) assert.throws(() => parseTilePath(path), { kind: 'Malformed' }, path)
  })
})

describe('tileIn', () => {
  test('gives the tiles of a tree of 70 000 leaves as C2SP tlog-tiles counts them', () => {
    const count = (level: number): number[] => {
      const widths: number[] = []
      for (let index = 0; ; index += 1) {
        const tile = tileIn(level, index, 70_000)
        if (tile === undefined) return widths
        widths.push(tile.width)
      }
    }
    assert.deepEqual(count(0), [...new Array<number>(273).fill(256), 112])
    assert.deepEqual(count(1), [256, 17])
    assert.deepEqual(count(2), [1])
    assert.deepEqual(count(3), [])
  })
})
