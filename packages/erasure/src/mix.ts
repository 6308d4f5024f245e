import { NIBBLES, PRODUCTS, PRODUCTS_BYTES } from './field.ts'
import { type MixKernel, OUTPUTS_MAX, STEP_BYTES, STRIDE_BYTES, TABLES_AT, WINDOW_BYTES, WINDOWS_AT } from './kernel.ts'

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
