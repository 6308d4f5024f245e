/** The constants of the BLAKE3 paper that the scalar code and the WebAssembly kernel share. */

/** Bytes of one leaf of the BLAKE3 tree. (The paper calls it a chunk; here a chunk is a slice of an object.) */
export const LEAF_BYTES = 1024
export const BLOCK_BYTES = 64
/** Bytes of a chaining value, of a digest and of a key. */
export const DIGEST_BYTES = 32

export const IV = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
] as const

export const FLAG = { chunkStart: 1, chunkEnd: 2, parent: 4, root: 8 } as const

export const ROUNDS = 7

const PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8] as const

/** `SCHEDULE[round][i]` is the message word that round uses in place `i`: the permutation applied `round` times. */
export const SCHEDULE: readonly (readonly number[])[] = Array.from({ length: ROUNDS }, (_, round) => {
  let words = Array.from({ length: 16 }, (_word, index) => index)
  for (let times = 0; times < round; times++) words = PERMUTATION.map((index) => words[index] ?? 0)
  return words
})

/** The eight quarter-rounds of a round: four columns, then four diagonals of the 4 × 4 state. */
export const QUARTERS = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
] as const
