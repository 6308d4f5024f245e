/**
 * Sums of products over GF(2⁸), sixteen bytes to a vector: up to four outputs are computed at once, so that an input is
 * loaded and split into nibbles once for all of them.
 *
 *   for each 32 bytes of the window                 tables, in the order in which they are read:
 *     sums = 0                                        input 0: output 0 low │ high, output 1 low │ high, …
 *     for each input                                  input 1: …
 *       split its 32 bytes into low and high nibbles
 *       for each output                             inputs and outputs lie STRIDE_BYTES apart
 *         sum ^= low table [low nibbles] ^ high table [high nibbles]
 *     store the sums
 */
import { wasm } from '@cairn/wire'
import { NIBBLES, PRODUCTS_BYTES } from './field.ts'

/** Outputs computed by one call. More would not fit into the sixteen vector registers of x86. */
export const OUTPUTS_MAX = 4

const VECTOR_BYTES = 16
/** The vectors of an input that share one load of the tables. */
const COLUMNS = 2
/** The kernel works in whole steps; a window is rounded up to one. */
export const STEP_BYTES = COLUMNS * VECTOR_BYTES

/** Bytes of every shard in the kernel's memory at a time: nine of them stay within a core's own cache. */
export const WINDOW_BYTES = 16_384
/** Not a power of two: otherwise the same place of all shards would compete for the same few cache lines. */
export const STRIDE_BYTES = WINDOW_BYTES + 64

/** All of a code's shards, known and wanted. */
export const SHARDS_MAX = 255
/** The most products a code has: as many known shards as wanted ones, near enough. */
const TABLES_BYTES = Math.ceil(SHARDS_MAX / 2) ** 2 * PRODUCTS_BYTES

/*  memory:  0 ── tables ── 512 KiB ── windows of the inputs, then of the outputs  */
export const TABLES_AT = 0
export const WINDOWS_AT = TABLES_AT + TABLES_BYTES
const PAGE_BYTES = 65_536
const MEMORY_PAGES = Math.ceil((WINDOWS_AT + SHARDS_MAX * STRIDE_BYTES) / PAGE_BYTES)

const { and, get, i32, i32Add, i32Equal, i32Sub, load, loop, set, shiftRight, store, tee, v128, when, xor } = wasm
type WasmCode = wasm.Code
/** Sixteen lookups in a table of sixteen bytes. */
type TableLookup = (table: WasmCode, nibbles: WasmCode) => WasmCode

const PARAMETERS = ['tables', 'inputs', 'inputCount', 'outputs', 'outputCount', 'length'] as const
const parameter = (name: (typeof PARAMETERS)[number]): number => PARAMETERS.indexOf(name)

const INTEGERS = ['table', 'input', 'inputsLeft'] as const
const integer = (name: (typeof INTEGERS)[number]): number => PARAMETERS.length + INTEGERS.indexOf(name)

const VECTORS = PARAMETERS.length + INTEGERS.length
const MASK = VECTORS
const LOW_TABLE = VECTORS + 1
const HIGH_TABLE = VECTORS + 2
const low = (column: number): number => VECTORS + 3 + column
const high = (column: number): number => VECTORS + 3 + COLUMNS + column
const sum = (output: number, column: number): number => VECTORS + 3 + (2 + output) * COLUMNS + column
const VECTOR_COUNT = 3 + (2 + OUTPUTS_MAX) * COLUMNS

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
const advance = (local: number, bytes: number): WasmCode => set(local, i32Add(get(local), i32(bytes)))

function splitInput(): WasmCode {
  return range(COLUMNS).flatMap((column) => [
    ...set(low(column), and(tee(high(column), load(get(integer('input')), column * VECTOR_BYTES)), get(MASK))),
    // Bits shifted in from the neighbouring byte fall to the mask.
    ...set(high(column), and(shiftRight(get(high(column)), 4), get(MASK))),
  ])
}

function addProducts(lookup: TableLookup, output: number): WasmCode {
  return [
    ...set(LOW_TABLE, load(get(integer('table')), output * PRODUCTS_BYTES)),
    ...set(HIGH_TABLE, load(get(integer('table')), output * PRODUCTS_BYTES + NIBBLES)),
    ...range(COLUMNS).flatMap((column) => {
      const product = xor(lookup(get(LOW_TABLE), get(low(column))), lookup(get(HIGH_TABLE), get(high(column))))
      return set(sum(output, column), xor(get(sum(output, column)), product))
    }),
  ]
}

/** The next step of every output from that of every input. */
function step(lookup: TableLookup, outputs: readonly number[]): WasmCode {
  const sums = outputs.flatMap((output) => range(COLUMNS).map((column) => ({ output, column })))
  const nextInput = [
    ...splitInput(),
    ...outputs.flatMap((output) => addProducts(lookup, output)),
    ...advance(integer('table'), outputs.length * PRODUCTS_BYTES),
    ...advance(integer('input'), STRIDE_BYTES),
    ...set(integer('inputsLeft'), i32Sub(get(integer('inputsLeft')), i32(1))),
  ]
  return [
    ...sums.flatMap(({ output, column }) => set(sum(output, column), v128(range(VECTOR_BYTES).fill(0)))),
    ...set(integer('table'), get(parameter('tables'))),
    ...set(integer('input'), get(parameter('inputs'))),
    ...set(integer('inputsLeft'), get(parameter('inputCount'))),
    ...loop(nextInput, get(integer('inputsLeft'))),
    ...sums.flatMap(({ output, column }) =>
      store(get(parameter('outputs')), output * STRIDE_BYTES + column * VECTOR_BYTES, get(sum(output, column))),
    ),
  ]
}

function stepLoop(lookup: TableLookup, outputCount: number): WasmCode {
  const body = [
    ...step(lookup, range(outputCount)),
    ...advance(parameter('inputs'), STEP_BYTES),
    ...advance(parameter('outputs'), STEP_BYTES),
    ...advance(parameter('length'), -STEP_BYTES),
  ]
  return when(i32Equal(get(parameter('outputCount')), i32(outputCount)), loop(body, get(parameter('length'))))
}

function mixModule(lookup: TableLookup): wasm.ModuleSource {
  return {
    parameterCount: PARAMETERS.length,
    locals: [
      { type: 'i32', count: INTEGERS.length },
      { type: 'v128', count: VECTOR_COUNT },
    ],
    body: [
      ...set(MASK, v128(range(VECTOR_BYTES).fill(NIBBLES - 1))),
      ...range(OUTPUTS_MAX).flatMap((index) => stepLoop(lookup, index + 1)),
    ],
    memoryPages: MEMORY_PAGES,
  }
}

export interface MixKernel {
  readonly memory: Uint8Array
  /** `length` is a multiple of `STEP_BYTES` above zero, `outputCount` 1 to `OUTPUTS_MAX`, `inputCount` at least 1. */
  readonly mix: (
    tables: number,
    inputs: number,
    inputCount: number,
    outputs: number,
    outputCount: number,
    length: number,
  ) => void
}

/** The quicker first: it takes less than half the time. */
export const LOOKUPS: readonly TableLookup[] = [wasm.relaxedSwizzle, wasm.swizzle]

/** The module as a host is given it: the same bytes wherever and whenever it is assembled. */
export function assembleKernel(lookup: TableLookup): Uint8Array {
  return wasm.assemble(mixModule(lookup))
}

/** A fresh kernel with its own memory, by the first lookup the host knows; nothing where it can run none. */
export function instantiateKernel(lookups: readonly TableLookup[]): MixKernel | undefined {
  for (const lookup of lookups) {
    const instance = wasm.instantiate(mixModule(lookup))
    if (instance !== undefined) return { memory: instance.memory, mix: instance.run }
  }
  return undefined
}
