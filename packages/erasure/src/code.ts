/**
 * Reed–Solomon k+m: k data shards and m parity shards of one length, any k of which give all the others.
 *
 *     shards = [ data 0 … data k−1 │ parity 0 … parity m−1 ]
 *
 * Every byte is coded with those at the same place of the other shards, so a long shard may be coded piece by piece.
 */
import { CairnError } from '@cairn/kernel'
import { logarithm, power } from './field.ts'
import { instantiateKernel, LOOKUPS, SHARDS_MAX } from './kernel.ts'
import { type Mix, mixIn, mixPlain } from './mix.ts'

/*
 * Interpolation makes one shard from others. The bytes at one place of all shards lie on a polynomial of degree below k:
 *
 *     shard   0    1    2   …  k−1 │  k   …  k+m−1          P(i) = the byte of shard i
 *     P(i)   data data data …  data│ parity … parity        any k points determine P, so they give every other
 *
 * The byte of shard `t` is the sum over the known shards `s` of L(s, t) · P(s), with Lagrange's basis
 *
 *     L(s, t) = ∏ (t − q) / (s − q)   over the other known shards q;      minus is exclusive or.
 *
 * The matrix that systems of this family get by inverting the top of a Vandermonde matrix holds the same numbers.
 */

/** One row for each target, one column for each source. The targets are not among the sources. */
export function interpolation(sources: readonly number[], targets: readonly number[]): Uint8Array[] {
  const denominators = sources.map((source) => sumOfLogarithms(source, sources))
  return targets.map((target) => {
    const numerator = sumOfLogarithms(target, sources)
    return Uint8Array.from(sources, (source, column) =>
      power(numerator - logarithm(target ^ source) - (denominators[column] ?? 0)),
    )
  })
}

/** The logarithm of the product of the distances from `point` to all others in `points`. */
function sumOfLogarithms(point: number, points: readonly number[]): number {
  return points.reduce((sum, other) => (other === point ? sum : sum + logarithm(point ^ other)), 0)
}

/** What `verify` computes at a time and compares with the parity given. */
const VERIFIED_BYTES = 65_536

/** Shards by index; a lost one is undefined. */
export type ShardsWithHoles = readonly (Uint8Array | undefined)[]

export interface ErasureCode {
  /** Overwrites the last `m` of the `k + m` shards with the parity of the first `k`. */
  encode(shards: readonly Uint8Array[], k: number, m: number): void
  /** Whether the last `m` shards are the parity of the first `k`. It cannot tell which one is wrong. */
  verify(shards: readonly Uint8Array[], k: number, m: number): boolean
  /**
   * The shards with the indices `wanted`, in that order, from the first `k` of those that are there; one that is there
   * itself is returned as it is. `NotFound` with code `too_few_shards` when fewer than `k` are left.
   */
  reconstruct(shards: ShardsWithHoles, k: number, m: number, wanted: readonly number[]): Uint8Array[]
}

/** The code over a given way to add products: in vectors, or a byte at a time. */
export function erasureCode(mix: Mix): ErasureCode {
  return {
    encode(shards, k, m) {
      checkShape(shards, k, m)
      mix(parityRows(k, m), shards.slice(0, k), shards.slice(k))
    },
    verify(shards, k, m) {
      const length = checkShape(shards, k, m)
      const rows = parityRows(k, m)
      const room = (): Uint8Array => new Uint8Array(Math.min(length, VERIFIED_BYTES))
      const [scratch, given] = [rows.map(room), room()]
      for (let offset = 0; offset < length; offset += VERIFIED_BYTES) {
        const pieces = shards.map((shard) => shard.subarray(offset, offset + VERIFIED_BYTES))
        const parity = scratch.map((bytes) => bytes.subarray(0, length - offset))
        mix(rows, pieces.slice(0, k), parity)
        for (const [index, computed] of parity.entries()) {
          given.set(pieces[k + index] ?? NOTHING)
          if (!equalBeginnings(computed, given)) return false
        }
      }
      return true
    },
    reconstruct(shards, k, m, wanted) {
      const length = checkShape(shards, k, m)
      const sources = firstPresent(shards, k)
      const targets = [...new Set(wanted)].filter((index) => isHole(shards, index))
      const rebuilt = targets.map(() => new Uint8Array(length))
      mix(
        interpolation(sources, targets),
        sources.map((index) => shards[index] ?? NOTHING),
        rebuilt,
      )
      return wanted.map((index) => shards[index] ?? rebuilt[targets.indexOf(index)] ?? NOTHING)
    },
  }
}

const NOTHING = new Uint8Array(0)
const indices = (first: number, count: number): number[] => Array.from({ length: count }, (_, index) => first + index)
const parityRows = (k: number, m: number): Uint8Array[] => interpolation(indices(0, k), indices(k, m))
const malformed = (detail: string): CairnError => new CairnError('Malformed', detail)

/** The length of every shard; an error unless there are `k + m` places and what fills them has one length. */
function checkShape(shards: ShardsWithHoles, k: number, m: number): number {
  const isCode = Number.isInteger(k) && Number.isInteger(m) && k >= 1 && m >= 0 && k + m <= SHARDS_MAX
  if (!isCode) throw malformed(`No code is ${k}+${m}: it has 1 or more data shards and at most ${SHARDS_MAX} in all.`)
  if (shards.length !== k + m) throw malformed(`A code ${k}+${m} has ${k + m} shards, not ${shards.length}.`)
  const lengths = new Set(shards.flatMap((shard) => (shard === undefined ? [] : [shard.length])))
  if (lengths.size > 1)
    throw malformed(`Shards of one stripe have one length, not ${[...lengths].join(' and ')} bytes.`)
  return [...lengths][0] ?? 0
}

function firstPresent(shards: ShardsWithHoles, k: number): number[] {
  const present = indices(0, shards.length).filter((index) => shards[index] !== undefined)
  if (present.length >= k) return present.slice(0, k)
  const detail = `${present.length} of ${shards.length} shards are left and ${k} are needed; nothing can replace the rest.`
  throw new CairnError('NotFound', detail, { code: 'too_few_shards' })
}

function isHole(shards: ShardsWithHoles, index: number): boolean {
  if (!Number.isInteger(index) || index < 0 || index >= shards.length) {
    throw malformed(`There is no shard ${index} among ${shards.length}.`)
  }
  return shards[index] === undefined
}

/** Whether `b` begins with `a`. Both begin their buffers, so they are compared in words: bytes take ten times as long. */
function equalBeginnings(a: Uint8Array, b: Uint8Array): boolean {
  const wordCount = a.length >> 2
  const [words, others] = [new Int32Array(a.buffer, 0, wordCount), new Int32Array(b.buffer, 0, wordCount)]
  for (let index = 0; index < wordCount; index++) if (words[index] !== others[index]) return false
  for (let index = 4 * wordCount; index < a.length; index++) if (a[index] !== b[index]) return false
  return true
}

/** In vectors where the host can, made at first use. The kernel's memory is scratch: no call reads what another left. */
const fastest = (() => {
  let made: ErasureCode | undefined
  return (): ErasureCode => {
    if (made === undefined) {
      const kernel = instantiateKernel(LOOKUPS)
      made = erasureCode(kernel === undefined ? mixPlain : mixIn(kernel))
    }
    return made
  }
})()

export const encode: ErasureCode['encode'] = (shards, k, m) => fastest().encode(shards, k, m)
export const verify: ErasureCode['verify'] = (shards, k, m) => fastest().verify(shards, k, m)
export const reconstruct: ErasureCode['reconstruct'] = (shards, k, m, wanted) =>
  fastest().reconstruct(shards, k, m, wanted)
