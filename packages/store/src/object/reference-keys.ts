/**
 * Keys of the index that say who needs what; all of them follow from object and hold records.
 *
 *     d e chunk(32) object(32)    the object is made of this chunk, or of a page that is this chunk
 *     d h object(32) hold(32)     somebody holds the object
 *     d x                         some edges are missing or out of date: nothing may be swept before they are made anew
 */
import { DERIVED } from '../index/entry-codec.ts'

const EDGE = 0x65
const HOLD = 0x68
const DIGEST_BYTES = 32

export const INCOMPLETE_KEY = Uint8Array.of(DERIVED, 0x78)

export function edgeKey(chunk: Uint8Array, object: Uint8Array): Uint8Array {
  return keyOf(EDGE, chunk, object)
}

export function holdKey(object: Uint8Array, hold: Uint8Array): Uint8Array {
  return keyOf(HOLD, object, hold)
}

/** All keys that begin with this chunk or object. */
export function edgesOf(chunk: Uint8Array): { from: Uint8Array; to: Uint8Array; limit: number } {
  return { from: keyOf(EDGE, chunk, LOWEST), to: keyOf(EDGE, chunk, ABOVE), limit: 1 }
}

/** Every edge after this key. */
export function edgesAfter(key: Uint8Array | undefined): { from: Uint8Array; to: Uint8Array } {
  const after = key === undefined ? keyOf(EDGE, LOWEST, LOWEST) : Uint8Array.of(...key, 0)
  return { from: after, to: keyOf(EDGE, ABOVE, LOWEST) }
}

/** The object that an edge leads to. */
export function objectOfEdge(key: Uint8Array): Uint8Array {
  return key.subarray(2 + DIGEST_BYTES)
}

/** The hold that a key of `holdsOf` is about. */
export function holdOfKey(key: Uint8Array): Uint8Array {
  return key.slice(2 + DIGEST_BYTES)
}

export function holdsOf(object: Uint8Array): { from: Uint8Array; to: Uint8Array; limit: number } {
  return { from: keyOf(HOLD, object, LOWEST), to: keyOf(HOLD, object, ABOVE), limit: 1 }
}

const LOWEST = new Uint8Array(0)
/** Sorts after every digest. */
const ABOVE = new Uint8Array(DIGEST_BYTES + 1).fill(0xff)

function keyOf(tag: number, first: Uint8Array, second: Uint8Array): Uint8Array {
  const key = new Uint8Array(2 + first.length + second.length)
  key[0] = DERIVED
  key[1] = tag
  key.set(first, 2)
  key.set(second, 2 + first.length)
  return key
}
