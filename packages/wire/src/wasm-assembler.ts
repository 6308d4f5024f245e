/**
 * A WebAssembly assembler just large enough for our kernels: expressions are byte lists, instructions are functions
 * from operands to a byte list, and `assemble` wraps one function and one memory into a module.
 *
 *   module = magic │ types │ functions │ memory │ exports │ code
 *
 * It exists so that a kernel is readable source: no binary blob to trust and no toolchain to install.
 */

/** Encoded instructions; operands come before the operator, as on the stack machine they run on. */
export type Code = readonly number[]

export type ValueType = 'i32' | 'v128'

const VALUE_TYPE = { i32: 0x7f, v128: 0x7b } as const

function unsigned(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80)
    rest >>>= 7
  }
  bytes.push(rest)
  return bytes
}

function signed(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (;;) {
    const low = rest & 0x7f
    rest >>= 7
    // Done once the remaining bits are only copies of the sign bit just written.
    if ((rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)) return [...bytes, low]
    bytes.push(low | 0x80)
  }
}

const simd = (opcode: number): number[] => [0xfd, ...unsigned(opcode)]

export const get = (local: number): Code => [0x20, ...unsigned(local)]
export const set = (local: number, value: Code): Code => [...value, 0x21, ...unsigned(local)]
export const tee = (local: number, value: Code): Code => [...value, 0x22, ...unsigned(local)]

export const i32 = (value: number): Code => [0x41, ...signed(value | 0)]
export const i32Add = (a: Code, b: Code): Code => [...a, ...b, 0x6a]
export const i32Sub = (a: Code, b: Code): Code => [...a, ...b, 0x6b]
export const i32Or = (a: Code, b: Code): Code => [...a, ...b, 0x72]
export const i32Equal = (a: Code, b: Code): Code => [...a, ...b, 0x46]
/** `condition ? a : b`, both evaluated. */
export const select = (a: Code, b: Code, condition: Code): Code => [...a, ...b, ...condition, 0x1b]

/** Runs `body`, then again while `condition` is not zero. */
export const loop = (body: Code, condition: Code): Code => [0x03, 0x40, ...body, ...condition, 0x0d, 0x00, 0x0b]
/** Runs `body` if `condition` is not zero. */
export const when = (condition: Code, body: Code): Code => [...condition, 0x04, 0x40, ...body, 0x0b]

const ALIGN_4 = 2 // log2: loads carry no more than the alignment every caller can promise

export const load = (pointer: Code, offset: number): Code => [...pointer, ...simd(0x00), ALIGN_4, ...unsigned(offset)]
export const store = (pointer: Code, offset: number, value: Code): Code => [
  ...pointer,
  ...value,
  ...simd(0x0b),
  ALIGN_4,
  ...unsigned(offset),
]

/** A constant vector of sixteen bytes. */
export const v128 = (bytes: readonly number[]): Code => [...simd(0x0c), ...bytes]
export const splat = (value: Code): Code => [...value, ...simd(0x11)]
/** Bytes picked by constant index from the 32 bytes of `a` then `b`. */
export const shuffle = (a: Code, b: Code, bytes: readonly number[]): Code => [...a, ...b, ...simd(0x0d), ...bytes]
/** Bytes of `a` picked by the indices in `bytes`. */
export const swizzle = (a: Code, bytes: Code): Code => [...a, ...bytes, ...simd(0x0e)]
/** The same for indices below 16, in fewer instructions; not every host knows it. */
export const relaxedSwizzle = (a: Code, bytes: Code): Code => [...a, ...bytes, ...simd(0x100)]
export const add = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xae)]
export const multiply = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xb5)]
export const xor = (a: Code, b: Code): Code => [...a, ...b, ...simd(0x51)]
export const or = (a: Code, b: Code): Code => [...a, ...b, ...simd(0x50)]
export const and = (a: Code, b: Code): Code => [...a, ...b, ...simd(0x4e)]
export const shiftLeft = (a: Code, bits: number): Code => [...a, ...i32(bits), ...simd(0xab)]
export const shiftRight = (a: Code, bits: number): Code => [...a, ...i32(bits), ...simd(0xad)]

/** A module of one function without result and one memory. */
export interface ModuleSource {
  /** All `i32`; they are locals 0, 1, 2 … of the body. */
  readonly parameterCount: number
  /** Further locals, numbered on from the parameters. */
  readonly locals: readonly { readonly type: ValueType; readonly count: number }[]
  readonly body: Code
  readonly memoryPages: number
}

const MAGIC_AND_VERSION = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]

const vector = (items: readonly Code[]): number[] => [...unsigned(items.length), ...items.flat()]
const section = (id: number, content: Code): number[] => [id, ...unsigned(content.length), ...content]
const name = (text: string): number[] => [...unsigned(text.length), ...new TextEncoder().encode(text)]

/** The binary of a module that exports its function, as `run`, and its memory, as `memory`. */
export function assemble(source: ModuleSource): Uint8Array<ArrayBuffer> {
  const parameters = Array.from({ length: source.parameterCount }, () => [VALUE_TYPE.i32])
  const locals = vector(source.locals.map(({ type, count }) => [...unsigned(count), VALUE_TYPE[type]]))
  const code = [...locals, ...source.body, 0x0b]
  return Uint8Array.from([
    ...MAGIC_AND_VERSION,
    ...section(1, vector([[0x60, ...vector(parameters), 0x00]])),
    ...section(3, vector([[0x00]])),
    ...section(5, vector([[0x01, ...unsigned(source.memoryPages), ...unsigned(source.memoryPages)]])),
    ...section(
      7,
      vector([
        [...name('memory'), 0x02, 0x00],
        [...name('run'), 0x00, 0x00],
      ]),
    ),
    ...section(10, vector([[...unsigned(code.length), ...code]])),
  ])
}

/** What a kernel needs of the host; TypeScript's DOM library would say the same at length. */
declare const WebAssembly:
  | undefined
  | {
      readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
      readonly Instance: new (module: object) => { readonly exports: Readonly<Record<string, unknown>> }
      readonly CompileError: new () => Error
    }

export interface Instance {
  readonly memory: Uint8Array<ArrayBuffer>
  readonly run: (...parameters: readonly number[]) => void
}

/**
 * A fresh instance with its own memory, or nothing where the host has no WebAssembly SIMD or a content security policy
 * forbids compiling it.
 */
export function instantiate(source: ModuleSource): Instance | undefined {
  if (typeof WebAssembly === 'undefined') return undefined
  try {
    const { memory, run } = new WebAssembly.Instance(new WebAssembly.Module(assemble(source))).exports
    return isMemory(memory) && isRun(run) ? { memory: new Uint8Array(memory.buffer), run } : undefined
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return undefined
    throw error
  }
}

const isMemory = (value: unknown): value is { readonly buffer: ArrayBuffer } =>
  typeof value === 'object' && value !== null && 'buffer' in value && value.buffer instanceof ArrayBuffer
const isRun = (value: unknown): value is Instance['run'] => typeof value === 'function'
