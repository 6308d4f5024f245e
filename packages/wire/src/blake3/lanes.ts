/**
 * Four BLAKE3 compressions at once, one per 32-bit lane of a WebAssembly vector.
 *
 *           lane 0     lane 1     lane 2     lane 3
 *   s0   [ a.state0 │ b.state0 │ c.state0 │ d.state0 ]      a, b, c, d: four consecutive inputs, either whole leaves
 *    ⋮                                                      (16 blocks, counters n … n+3) or parents (one block each,
 *   s15  [ a.state15│ b.state15│ c.state15│ d.state15]      two chaining values, counter 0)
 *
 * The message words m0 … m15 are transposed likewise. The program is emitted from the tables in constants.ts, so it
 * can be read next to the paper.
 */
import {
  add,
  type Code,
  get,
  i32,
  i32Add,
  i32Equal,
  i32Or,
  i32Sub,
  instantiate,
  load,
  loop,
  type ModuleSource,
  multiply,
  or,
  select,
  set,
  shiftLeft,
  shiftRight,
  shuffle,
  splat,
  store,
  swizzle,
  tee,
  v128,
  xor,
} from '../wasm-assembler.ts'
import { BLOCK_BYTES, FLAG, IV, LEAF_BYTES, QUARTERS, ROUNDS, SCHEDULE } from './constants.ts'

/** Inputs compressed by one call. */
export const LANES = 4

/** The caller's memory plan fits in this many 64 KiB pages. */
const MEMORY_PAGES = 2

/** `leaf` is 1 for leaves and 0 for parents. */
const PARAMETERS = ['input', 'leaf', 'counterLow', 'counterHigh', 'output'] as const
const parameter = (name: (typeof PARAMETERS)[number]): number => PARAMETERS.indexOf(name)
const ifLeaf = (leaf: number, parent: number): Code => select(i32(leaf), i32(parent), get(parameter('leaf')))

const INTEGERS = ['pointer0', 'pointer1', 'pointer2', 'pointer3', 'blocksLeft', 'flags'] as const
const integer = (name: (typeof INTEGERS)[number]): number => PARAMETERS.length + INTEGERS.indexOf(name)
const POINTERS = [integer('pointer0'), integer('pointer1'), integer('pointer2'), integer('pointer3')]

const VECTORS = PARAMETERS.length + INTEGERS.length
const state = (index: number): number => VECTORS + index
const message = (index: number): number => VECTORS + 16 + index
const chaining = (index: number): number => VECTORS + 32 + index
const temporary = (index: number): number => VECTORS + 40 + index
const ROTATE_16 = VECTORS + 48
const ROTATE_8 = VECTORS + 49
const VECTOR_COUNT = 50

const bytesOfWords = (...words: readonly number[]): number[] =>
  words.flatMap((word) => [4 * word, 4 * word + 1, 4 * word + 2, 4 * word + 3])
const lanesOf = (...words: readonly number[]): Code =>
  v128(words.flatMap((word) => [word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff, word >>> 24]))

/** Rotation by whole bytes is one byte shuffle; its pattern sits in a local, since V8 rebuilds an inline one each time. */
const rotateBytes = (value: Code, pattern: number): Code => swizzle(value, get(pattern))
const rotateBits = (value: Code, bits: number, scratch: number): Code =>
  or(shiftRight(tee(scratch, value), bits), shiftLeft(get(scratch), 32 - bits))

interface Quarter {
  readonly a: number
  readonly b: number
  readonly c: number
  readonly d: number
  readonly x: number
  readonly y: number
  readonly scratch: number
}

/** The quarter-round in eight steps; four independent quarters run step by step, which keeps the vector units fed. */
const QUARTER_STEPS: readonly ((q: Quarter) => Code)[] = [
  ({ a, b, x }) => set(a, add(add(get(a), get(b)), get(x))),
  ({ a, d }) => set(d, rotateBytes(xor(get(d), get(a)), ROTATE_16)),
  ({ c, d }) => set(c, add(get(c), get(d))),
  ({ b, c, scratch }) => set(b, rotateBits(xor(get(b), get(c)), 12, scratch)),
  ({ a, b, y }) => set(a, add(add(get(a), get(b)), get(y))),
  ({ a, d }) => set(d, rotateBytes(xor(get(d), get(a)), ROTATE_8)),
  ({ c, d }) => set(c, add(get(c), get(d))),
  ({ b, c, scratch }) => set(b, rotateBits(xor(get(b), get(c)), 7, scratch)),
]

function rounds(): Code {
  const program: Code[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const quarters = QUARTERS.map(([a, b, c, d], index) => ({
      a: state(a),
      b: state(b),
      c: state(c),
      d: state(d),
      x: message(SCHEDULE[round]?.[2 * index] ?? 0),
      y: message(SCHEDULE[round]?.[2 * index + 1] ?? 0),
      scratch: temporary(index % 4),
    }))
    for (const half of [quarters.slice(0, 4), quarters.slice(4)]) {
      for (const step of QUARTER_STEPS) program.push(...half.map(step))
    }
  }
  return program.flat()
}

/** Turns four vectors (one per input) into four vectors (one per word), or back: it is its own inverse. */
function transpose(rows: readonly [Code, Code, Code, Code], emit: (column: number, value: Code) => Code): Code {
  const [t0, t1, t2, t3] = [temporary(4), temporary(5), temporary(6), temporary(7)]
  const low = bytesOfWords(0, 4, 1, 5)
  const high = bytesOfWords(2, 6, 3, 7)
  const first = bytesOfWords(0, 1, 4, 5)
  const second = bytesOfWords(2, 3, 6, 7)
  return [
    ...set(t0, shuffle(rows[0], rows[1], low)),
    ...set(t1, shuffle(rows[2], rows[3], low)),
    ...set(t2, shuffle(rows[0], rows[1], high)),
    ...set(t3, shuffle(rows[2], rows[3], high)),
    ...emit(0, shuffle(get(t0), get(t1), first)),
    ...emit(1, shuffle(get(t0), get(t1), second)),
    ...emit(2, shuffle(get(t2), get(t3), first)),
    ...emit(3, shuffle(get(t2), get(t3), second)),
  ]
}

function loadMessage(): Code {
  const program: Code[] = []
  for (let quad = 0; quad < 4; quad++) {
    for (const [lane, pointer] of POINTERS.entries()) program.push(set(temporary(lane), load(get(pointer), 16 * quad)))
    const rows = [get(temporary(0)), get(temporary(1)), get(temporary(2)), get(temporary(3))] as const
    program.push(transpose([...rows], (column, value) => set(message(4 * quad + column), value)))
  }
  return program.flat()
}

function storeChainingValues(): Code {
  const half = (first: number): Code =>
    transpose(
      [get(chaining(first)), get(chaining(first + 1)), get(chaining(first + 2)), get(chaining(first + 3))],
      (lane, value) => store(get(parameter('output')), 32 * lane + 4 * first, value),
    )
  return [...half(0), ...half(4)]
}

function compressBlock(): Code {
  const counterSteps = multiply(splat(get(parameter('leaf'))), lanesOf(0, 1, 2, 3))
  const program: Code[] = [loadMessage()]
  for (let index = 0; index < 8; index++) program.push(set(state(index), get(chaining(index))))
  for (const [index, word] of IV.slice(0, 4).entries()) program.push(set(state(8 + index), splat(i32(word))))
  program.push(set(state(12), add(splat(get(parameter('counterLow'))), counterSteps)))
  program.push(set(state(13), splat(get(parameter('counterHigh')))))
  program.push(set(state(14), splat(i32(BLOCK_BYTES))))
  program.push(set(state(15), splat(get(integer('flags')))))
  program.push(rounds())
  for (let index = 0; index < 8; index++) {
    program.push(set(chaining(index), xor(get(state(index)), get(state(index + 8)))))
  }
  return program.flat()
}

/** A leaf marks its first and its last block; a parent is a single block under its own flag. */
function blockLoop(): Code {
  const isLast = i32Equal(get(integer('blocksLeft')), i32(1))
  const body: Code[] = [
    set(integer('flags'), i32Or(get(integer('flags')), select(ifLeaf(FLAG.chunkEnd, 0), i32(0), isLast))),
    compressBlock(),
    set(integer('flags'), i32(0)),
    ...POINTERS.map((pointer) => set(pointer, i32Add(get(pointer), i32(BLOCK_BYTES)))),
    set(integer('blocksLeft'), i32Sub(get(integer('blocksLeft')), i32(1))),
  ]
  return loop(body.flat(), get(integer('blocksLeft')))
}

function lanesModule(): ModuleSource {
  const body: Code[] = [
    set(ROTATE_16, v128([2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13])),
    set(ROTATE_8, v128([1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12])),
    ...POINTERS.map((pointer, lane) =>
      set(pointer, i32Add(get(parameter('input')), ifLeaf(lane * LEAF_BYTES, lane * BLOCK_BYTES))),
    ),
    set(integer('blocksLeft'), ifLeaf(LEAF_BYTES / BLOCK_BYTES, 1)),
    set(integer('flags'), ifLeaf(FLAG.chunkStart, FLAG.parent)),
    ...IV.map((word, index) => set(chaining(index), splat(i32(word)))),
    blockLoop(),
    storeChainingValues(),
  ]
  return {
    parameterCount: PARAMETERS.length,
    locals: [
      { type: 'i32', count: INTEGERS.length },
      { type: 'v128', count: VECTOR_COUNT },
    ],
    body: body.flat(),
    memoryPages: MEMORY_PAGES,
  }
}

export interface LaneKernel {
  readonly memory: Uint8Array
  /** Compresses four leaves or parents at `input` into four chaining values at `output`. */
  readonly compress4: (input: number, leaf: 0 | 1, counterLow: number, counterHigh: number, output: number) => void
}

/** A fresh kernel with its own memory, or nothing where the host cannot run one. */
export function instantiateLanes(): LaneKernel | undefined {
  const instance = instantiate(lanesModule())
  return instance && { memory: instance.memory, compress4: instance.run }
}
