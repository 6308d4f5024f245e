/**
 * Deterministic DAG-CBOR: each value has one encoding, and only that encoding is read.
 *
 * The library accepts unsorted map keys; we encode again what was decoded and demand the same bytes. Our formats hold
 * no links, so tags are refused altogether.
 */
import { CairnError } from '@cairn/kernel'
import * as dagCbor from '@ipld/dag-cbor'
import { type DecodeOptions, decode, type Token, Tokenizer, Type } from 'cborg'
import { equalBytes, plainBytes } from './bytes.ts'

/** No format of ours nests deeper; without the bound a few kilobytes of `[[[[…` overflow the stack. */
const MAX_DEPTH = 16

const OPTIONS: DecodeOptions = { ...dagCbor.decodeOptions, allowBigInt: false, tags: {} }

/** Values are plain: objects, arrays, byte strings, well-formed strings, safe integers, booleans and null. */
export function encodeCbor(value: unknown): Uint8Array {
  return plainBytes(dagCbor.encode(value))
}

/** The value of the one canonical encoding; anything else (unsorted, not minimal, trailing, too deep) is refused. */
export function decodeCbor(bytes: Uint8Array): unknown {
  const value = decodeLoose(bytes)
  if (!equalBytes(encodeCbor(value), bytes)) {
    throw new CairnError('Malformed', 'This CBOR is not the canonical encoding of its value (key order, for example).')
  }
  return value
}

function decodeLoose(bytes: Uint8Array): unknown {
  try {
    const plain = plainBytes(bytes)
    return decode(plain, { ...OPTIONS, tokenizer: new ShallowTokenizer(plain, OPTIONS) })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CairnError('Malformed', `This is not deterministic CBOR: ${reason}.`, { cause })
  }
}

/** Refuses the token that would open one level too many, before the decoder recurses into it. */
class ShallowTokenizer extends Tokenizer {
  /** For each open array or map, how many of its items are still to come. */
  readonly #open: number[] = []

  override next(): Token {
    const token = super.next()
    const top = this.#open.length - 1
    if (top >= 0) this.#open[top] = (this.#open[top] ?? 0) - 1
    const items = itemsOf(token)
    if (items !== undefined) this.#open.push(items)
    if (this.#open.length > MAX_DEPTH) throw new Error(`it is nested deeper than ${MAX_DEPTH} levels`)
    while (this.#open.at(-1) === 0) this.#open.pop()
    return token
  }
}

/** How many items an array or a map announces; nothing for a token that opens neither. */
function itemsOf(token: Token): number | undefined {
  const length: unknown = token.value
  if (typeof length !== 'number') return undefined
  if (Type.equals(token.type, Type.array)) return length
  return Type.equals(token.type, Type.map) ? 2 * length : undefined
}
