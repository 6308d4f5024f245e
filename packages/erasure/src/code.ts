/**
 * Reed–Solomon k+m: k data shards and m parity shards of one length, any k of which give all the others.
 *
 *     shards = [ data 0 … data k−1 │ parity 0 … parity m−1 ]
 *
 * Every byte is coded with those at the same place of the other shards, so a long shard may be coded piece by piece.
 */
import { CairnError } from '@cairn/kernel'
import { logarithm, NIBBLES, PRODUCTS, PRODUCTS_BYTES, power } from './field.ts'
import {
  instantiateKernel,
  LOOKUPS,
  type MixKernel,
  OUTPUTS_MAX,
  SHARDS_MAX,
  STEP_BYTES,
  STRIDE_BYTES,
  TABLES_AT,
  WINDOW_BYTES,
  WINDOWS_AT,
} from './kernel.ts'

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

/** Writes into each output the sum of the inputs, each times its coefficient in the output's row. */
export type Mix = (rows: readonly Uint8Array[], inputs: readonly Uint8Array[], outputs: readonly Uint8Array[]) => void

/** Works on every host, a byte at a time. */
export const mixPlain: Mix = (rows, inputs, outputs) => {
  for (const [index, output] of outputs.entries()) {
    output.fill(0)
    for (const [column, input] of inputs.entries()) addProduct(rows[index]?.[column] ?? 0, input, output)
  }
}

function addProduct(coefficient: number, input: Uint8Array, output: Uint8Array): void {
  const low = coefficient * PRODUCTS_BYTES
  const high = low + NIBBLES
  for (let at = 0; at < input.length; at++) {
    const byte = input[at] ?? 0
    output[at] = (output[at] ?? 0) ^ (PRODUCTS[low + (byte & 15)] ?? 0) ^ (PRODUCTS[high + (byte >> 4)] ?? 0)
  }
}

/** Mixes in the kernel's memory, a window of all shards at a time: its size does not depend on theirs. */
export function mixIn({ memory, mix }: MixKernel): Mix {
  return (rows, inputs, outputs) => {
    writeTables(memory, rows)
    const outputsAt = WINDOWS_AT + inputs.length * STRIDE_BYTES
    const length = inputs[0]?.length ?? 0
    for (let offset = 0; offset < length; offset += WINDOW_BYTES) {
      const end = Math.min(offset + WINDOW_BYTES, length)
      for (let index = 0; index < inputs.length; index++) {
        const input = inputs[index]
        if (input !== undefined) memory.set(input.subarray(offset, end), WINDOWS_AT + index * STRIDE_BYTES)
      }
      // What an earlier window left behind the last byte is mixed too, and never copied out.
      const rounded = Math.ceil((end - offset) / STEP_BYTES) * STEP_BYTES
      for (let first = 0; first < outputs.length; first += OUTPUTS_MAX) {
        const count = Math.min(OUTPUTS_MAX, outputs.length - first)
        const tables = TABLES_AT + first * inputs.length * PRODUCTS_BYTES
        mix(tables, WINDOWS_AT, inputs.length, outputsAt + first * STRIDE_BYTES, count, rounded)
      }
      for (let index = 0; index < outputs.length; index++) {
        const at = outputsAt + index * STRIDE_BYTES
        outputs[index]?.set(memory.subarray(at, at + end - offset), offset)
      }
    }
  }
}

/** In the order in which the kernel reads them: the outputs of one call together, input by input. */
function writeTables(memory: Uint8Array, rows: readonly Uint8Array[]): void {
  let at = TABLES_AT
  for (let first = 0; first < rows.length; first += OUTPUTS_MAX) {
    const group = rows.slice(first, first + OUTPUTS_MAX)
    for (let column = 0; column < (group[0]?.length ?? 0); column++) {
      for (const row of group) {
        const products = (row[column] ?? 0) * PRODUCTS_BYTES
        memory.set(PRODUCTS.subarray(products, products + PRODUCTS_BYTES), at)
        at += PRODUCTS_BYTES
      }
    }
  }
}
