/**
 * A WebAssembly assembler just large enough for the BLAKE3 kernel: expressions are byte lists, instructions are
 * functions from operands to a byte list, and `assemble` wraps one function and one memory into a module.
 *
 *   module = magic │ types │ functions │ memory │ exports │ code
 *
 * It exists so that the kernel is readable source: no binary blob to trust and no toolchain to install.
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
export const add = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xae)]
export const multiply = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xb5)]
export const xor = (a: Code, b: Code): Code => [...a, ...b, ...simd(0x51)]
export const or = (a: Code, b: Code): Code => [...a, ...b, ...simd(0x50)]
export const shiftLeft = (a: Code, bits: number): Code => [...a, ...i32(bits), ...simd(0xab)]
export const shiftRight = (a: Code, bits: number): Code => [...a, ...i32(bits), ...simd(0xad)]

export interface ModuleSource {
  readonly exportName: string
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

/** The binary of a module that exports one function without result and its memory, as `memory`. */
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
        [...name(source.exportName), 0x00, 0x00],
      ]),
    ),
    ...section(10, vector([[...unsigned(code.length), ...code]])),
  ])
}
