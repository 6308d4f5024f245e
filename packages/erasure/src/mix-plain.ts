import { NIBBLES, PRODUCTS, PRODUCTS_BYTES } from './field.ts'

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
