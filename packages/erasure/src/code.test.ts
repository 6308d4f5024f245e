import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { assertSame, CODES, choices, draws, stripe } from '../test/codes.ts'
import { type ErasureCode, encode, reconstruct, verify } from './code.ts'
import { SHARDS_MAX, STEP_BYTES, WINDOW_BYTES } from './kernel.ts'

const vector = new URL('../../../verify/vectors/reed-solomon/one-encode.json', import.meta.url)

const copy = (shards: readonly Uint8Array[]): Uint8Array[] => shards.map((shard) => shard.slice())
const without = (shards: readonly Uint8Array[], lost: readonly number[]): (Uint8Array | undefined)[] =>
  shards.map((shard, index) => (lost.includes(index) ? undefined : shard))

function encoded(code: ErasureCode, k: number, m: number, length: number): Uint8Array[] {
  const shards = stripe(k, m, length)
  code.encode(shards, k, m)
  return shards
}

for (const [name, code] of CODES) {
  describe(`Reed–Solomon, ${name}`, () => {
    test('gives the parity of the published vector', () => {
      const { data_shards: data, parity_shards: parity } = JSON.parse(readFileSync(vector, 'utf8')) as {
        data_shards: number[][]
        parity_shards: number[][]
      }
      assert.deepEqual([data.length, parity.length], [5, 5])
      const shards = [...data.map((bytes) => Uint8Array.from(bytes)), ...parity.map(() => new Uint8Array(2))]
      code.encode(shards, 5, 5)
      assert.deepEqual(
        shards.map((shard) => [...shard]),
        [...data, ...parity],
      )
    })

    test('survives all 84 ways to lose three of 6+3 shards', () => {
      const shards = encoded(code, 6, 3, WINDOW_BYTES + 77)
      const losses = choices(9, 3)
      assert.equal(losses.length, 84)
      for (const lost of losses) {
        const rebuilt = code.reconstruct(without(shards, lost), 6, 3, lost)
        assertSame(
          rebuilt,
          lost.map((index) => shards[index]),
          `without ${lost.join(' ')}`,
        )
      }
    })

    test('survives every loss of at most m shards of every code of up to 8', () => {
      for (let k = 1; k <= 8; k++) {
        for (let m = 0; k + m <= 8; m++) {
          const shards = encoded(code, k, m, 5)
          for (const lost of choices(k + m, m)) {
            const rebuilt = code.reconstruct(without(shards, lost), k, m, lost)
            assertSame(
              rebuilt,
              lost.map((index) => shards[index]),
              `${k}+${m} without ${lost.join(' ')}`,
            )
          }
        }
      }
    })

    test('handles the widest codes', () => {
      for (const [k, m] of [
        [1, SHARDS_MAX - 1],
        [SHARDS_MAX - 1, 1],
        [128, 127],
        [127, 128],
      ] as const) {
        const shards = encoded(code, k, m, STEP_BYTES + 1)
        const lost = Array.from({ length: m }, (_, index) => index)
        const rebuilt = code.reconstruct(without(shards, lost), k, m, lost)
        assertSame(rebuilt, shards.slice(0, m), `${k}+${m}`)
      }
    })

    test('gives the same for shards anywhere in a buffer, and piece by piece', () => {
      const length = 3 * WINDOW_BYTES + 5
      const whole = encoded(code, 4, 3, length)
      const scattered = stripe(4, 3, length).map((shard, index) => {
        const room = new Uint8Array(length + 16)
        room.set(shard, index + 1)
        return room.subarray(index + 1, index + 1 + length)
      })
      code.encode(scattered, 4, 3)
      assertSame(scattered, whole)
      assert.ok(code.verify(scattered, 4, 3))
      const pieces = stripe(4, 3, length)
      for (let from = 0; from < length; from += 10_007) {
        const part = pieces.map((shard) => shard.subarray(from, from + 10_007))
        code.encode(part, 4, 3)
      }
      assertSame(pieces, whole)
    })

    test('leaves what it is given alone and writes nothing around the parity', () => {
      for (const length of [1, STEP_BYTES - 1, STEP_BYTES, WINDOW_BYTES + 1]) {
        const rooms = stripe(3, 2, length + 2)
        const before = copy(rooms)
        const shards = rooms.map((room) => room.subarray(1, length + 1))
        code.encode(shards, 3, 2)
        assertSame(rooms.slice(0, 3), before.slice(0, 3), 'data')
        for (const [index, room] of rooms.entries()) {
          assert.deepEqual([room[0], room.at(-1)], [before[index]![0], before[index]!.at(-1)], `around ${index}`)
        }
        const after = copy(rooms)
        code.verify(shards, 3, 2)
        code.reconstruct(without(shards, [0, 1]), 3, 2, [0, 1])
        assertSame(rooms, after)
      }
    })

    test('verify finds one flipped bit in any shard, at the edges of what it works on and anywhere', () => {
      const length = 65_536 + WINDOW_BYTES + 3
      const shards = encoded(code, 6, 3, length)
      assert.ok(code.verify(shards, 6, 3))
      const next = draws(7)
      for (let index = 0; index < 9; index++) {
        const places = [0, WINDOW_BYTES - 1, WINDOW_BYTES, 65_535, 65_536, length - 4, length - 1, next(length)]
        for (const place of places) {
          const flipped = without(shards, [index]).map((shard) => shard ?? shards[index]!.slice())
          flipped[index]![place]! ^= 1 << next(8)
          assert.equal(code.verify(flipped, 6, 3), false, `byte ${place} of shard ${index}`)
        }
      }
    })

    test('rebuilds only what is wanted, each once, and hands back what is there', () => {
      const shards = encoded(code, 6, 3, 40)
      const left = without(shards, [1, 7])
      const [first, there, again] = code.reconstruct(left, 6, 3, [7, 2, 7])
      assert.deepEqual(first, shards[7])
      assert.equal(there, shards[2])
      assert.equal(again, first)
      assert.deepEqual(code.reconstruct(left, 6, 3, []), [])
      const spare = left.with(8, new Uint8Array(40))
      assert.deepEqual(code.reconstruct(spare, 6, 3, [1]), [shards[1]], 'from the first six that are there')
      const often = new Array<number>(100_000).fill(1)
      assert.equal(new Set(code.reconstruct(left, 6, 3, often)).size, 1)
    })

    test('refuses to rebuild from fewer than k shards, whatever is wanted', () => {
      const shards = encoded(code, 6, 3, 40)
      for (const lost of choices(9, 4)) {
        for (const wanted of [lost, lost.slice(0, 1), []]) {
          assert.throws(() => code.reconstruct(without(shards, lost), 6, 3, wanted), {
            kind: 'NotFound',
            code: 'too_few_shards',
            message: /5 of 9 shards are left and 6 are needed/,
          })
        }
      }
    })
  })
}

describe('Reed–Solomon', () => {
  test('takes shards of no bytes, and codes without parity', () => {
    const empty = stripe(2, 1, 0)
    encode(empty, 2, 1)
    assert.ok(verify(empty, 2, 1))
    assert.deepEqual(reconstruct(without(empty, [0]), 2, 1, [0]), [new Uint8Array(0)])
    const bare = stripe(3, 0, 10)
    const before = copy(bare)
    encode(bare, 3, 0)
    assert.deepEqual(bare, before)
    assert.ok(verify(bare, 3, 0))
  })

  test('refuses what is no code, a wrong number of shards, uneven shards and unknown indices', () => {
    const calls = [
      (shards: Uint8Array[], k: number, m: number) => encode(shards, k, m),
      (shards: Uint8Array[], k: number, m: number) => verify(shards, k, m),
      (shards: Uint8Array[], k: number, m: number) => reconstruct(shards, k, m, []),
    ]
    for (const call of calls) {
      for (const [k, m] of [
        [0, 3],
        [-1, 3],
        [6, -1],
        [1.5, 2],
        [6, Number.NaN],
        [200, 56],
      ] as const) {
        assert.throws(() => call(stripe(9, 0, 4), k, m), { kind: 'Malformed', message: /No code is/ }, `${k}+${m}`)
      }
      assert.throws(() => call(stripe(8, 0, 4), 6, 3), { kind: 'Malformed', message: /has 9 shards, not 8/ })
      const uneven = [...stripe(8, 0, 4), new Uint8Array(5)]
      assert.throws(() => call(uneven, 6, 3), { kind: 'Malformed', message: /one length, not 4 and 5 bytes/ })
    }
    for (const index of [-1, 9, 0.5]) {
      const message = /There is no shard/
      assert.throws(() => reconstruct(stripe(9, 0, 4), 6, 3, [index]), { kind: 'Malformed', message })
    }
  })

  test('is computed plainly, with the same results, where the host has no WebAssembly', () => {
    const program = `
      import { encode, reconstruct } from ${JSON.stringify(new URL('code.ts', import.meta.url).href)}
      delete globalThis.WebAssembly // the kernel is made at first use, and it is about to be used first
      const shards = Array.from({ length: 5 }, (_, index) => new Uint8Array(50).fill(index + 1))
      encode(shards, 3, 2)
      const [first] = reconstruct([undefined, ...shards.slice(1)], 3, 2, [0])
      process.stdout.write(typeof WebAssembly + ' ' + Buffer.concat([first, ...shards]).toString('hex'))`
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
    const shards = Array.from({ length: 5 }, (_, index) => new Uint8Array(50).fill(index + 1))
    encode(shards, 3, 2)
    assert.equal(output.trim(), `undefined ${Buffer.concat([shards[0]!, ...shards]).toString('hex')}`)
  })
})
