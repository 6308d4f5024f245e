/** Inputs made of other inputs: bits flipped, bytes set, pieces cut, repeated, moved, taken from another, known words put in. */
import type { Random } from '@cairn/kernel'

/** Values at the edges of what lengths and counters can be. */
const EDGES: readonly number[] = [0, 1, 0x20, 0x0a, 0x0d, 0x7f, 0x80, 0xff]
const STEPS_MAX = 6

export interface Mutator {
  readonly random: Random
  /** Words the format knows, as bytes. */
  readonly words: readonly Uint8Array[]
  readonly bytesMax: number
}

/** One more input, from `input` and, now and then, `other`. */
export function mutate({ random, words, bytesMax }: Mutator, input: Uint8Array, other: Uint8Array): Uint8Array {
  const at = (length: number): number => Math.floor(random.next() * length)
  let bytes = input
  const steps = 1 + at(STEPS_MAX)
  for (let step = 0; step < steps; step += 1) bytes = change(bytes)
  return bytes.length > bytesMax ? bytes.slice(0, bytesMax) : bytes

  function change(from: Uint8Array): Uint8Array {
    switch (at(9)) {
      case 0:
        return withByte(from, (byte) => byte ^ (1 << at(8)))
      case 1:
        return withByte(from, () => at(256))
      case 2:
        return withByte(from, () => EDGES[at(EDGES.length)] ?? 0)
      case 3:
        return withByte(from, (byte) => byte + at(33) - 16)
      case 4: {
        const [start, end] = piece(from)
        return join(from.subarray(0, start), from.subarray(end))
      }
      case 5: {
        const [start, end] = piece(from)
        return insert(from, from.subarray(start, end))
      }
      case 6: {
        const [start, end] = piece(other)
        return insert(from, other.subarray(start, end))
      }
      case 7: {
        const word = words[at(words.length)] ?? Uint8Array.of(at(256))
        return at(2) === 0 ? insert(from, word) : over(from, word)
      }
      default: {
        const cut = at(from.length + 1)
        return join(from.subarray(0, cut), other.subarray(at(other.length + 1)))
      }
    }
  }

  function withByte(from: Uint8Array, to: (byte: number) => number): Uint8Array {
    if (from.length === 0) return Uint8Array.of(at(256))
    const copy = from.slice()
    const place = at(copy.length)
    copy[place] = to(copy[place] ?? 0)
    return copy
  }

  function piece(from: Uint8Array): [number, number] {
    const start = at(from.length + 1)
    // Short pieces are the rule, long ones come up.
    const length = at(4) === 0 ? at(from.length - start + 1) : at(17)
    return [start, Math.min(from.length, start + length)]
  }

  function insert(from: Uint8Array, added: Uint8Array): Uint8Array {
    const place = at(from.length + 1)
    return join(from.subarray(0, place), added, from.subarray(place))
  }

  function over(from: Uint8Array, word: Uint8Array): Uint8Array {
    const place = at(from.length + 1)
    return join(from.subarray(0, place), word, from.subarray(Math.min(from.length, place + word.length)))
  }
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
