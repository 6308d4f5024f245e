/** Inputs as text, and cut in pieces; and readers that may refuse. */
import { CairnError } from '@cairn/kernel'

/** Every byte a character: nothing of the input is lost, and every input is a text. */
export function textOf(input: Uint8Array): string {
  return Buffer.from(input).toString('latin1')
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** The input in pieces; where it is cut follows from the input. */
export function* pieces(input: Uint8Array, salt: number): Generator<Uint8Array> {
  let [at, step] = [0, salt]
  while (at < input.length) {
    step = (step * 31 + (input[at] ?? 0) + 7) % 97
    yield input.subarray(at, at + 1 + step)
    at += 1 + step
  }
}

/** The lines before the first empty one, and what comes after it. */
export function linesAndBody(input: Uint8Array): { readonly lines: readonly string[]; readonly body: Uint8Array } {
  const end = textOf(input).indexOf('\n\n')
  const [head, body] = end < 0 ? [input, new Uint8Array()] : [input.subarray(0, end), input.slice(end + 2)]
  return { lines: textOf(head).split('\n'), body }
}

/** What it reads, or nothing where it refuses. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof CairnError) || error.kind === 'Internal') throw error
    return undefined
  }
}
