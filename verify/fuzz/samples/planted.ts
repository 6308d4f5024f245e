/** A reader with a fault that only five bytes in a row reach. */
export function readPlanted(input: Uint8Array): void {
  if (input[0] !== 0x66) return
  if (input[1] !== 0x75) return
  if (input[2] !== 0x7a) return
  if (input[3] !== 0x7a) return
  if (input[4] !== 0x21) return
  throw new Error('planted: five bytes were enough')
}
