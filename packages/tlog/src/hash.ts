/**
 * The hashes of RFC 6962: what a leaf and a node are worth.
 *
 *   leaf  = SHA-256(0x00 ‖ entry)
 *   node  = SHA-256(0x01 ‖ left ‖ right)
 *   empty = SHA-256()
 *
 * The first byte keeps a leaf from ever being read as a node: without it an entry of 64 bytes could
 * pass for two subtrees.
 */
import { CairnError } from '@cairn/kernel'
import { sha256 } from '@noble/hashes/sha2.js'

/** SHA-256 itself, for those who derive the paths of a map. */
export { sha256 }

/** 32 bytes of SHA-256. Never written to after it was made: trees share them. */
export type Hash = Uint8Array

export const HASH_BYTES = 32

/** The root of a tree without leaves. */
export const EMPTY_ROOT: Hash = sha256(new Uint8Array(0))

/** What an entry counts as in the tree. */
export function leafHash(entry: Uint8Array): Hash {
  const input = new Uint8Array(1 + entry.length)
  input.set(entry, 1)
  return sha256(input)
}

/** The parent of two nodes. Refuses operands of another length, since then two pairs could hash alike. */
export function nodeHash(left: Hash, right: Hash): Hash {
  return pairHash(0x01, left, right)
}

/** SHA-256(tag ‖ left ‖ right) of two hashes; `tag` says which structure the pair belongs to. */
export function pairHash(tag: number, left: Hash, right: Hash): Hash {
  requireHash(left)
  requireHash(right)
  const input = new Uint8Array(1 + 2 * HASH_BYTES)
  input[0] = tag
  input.set(left, 1)
  input.set(right, 1 + HASH_BYTES)
  return sha256(input)
}

export function requireHash(bytes: Uint8Array): void {
  if (bytes.length !== HASH_BYTES) {
    throw new CairnError('Malformed', `A hash here has ${HASH_BYTES} bytes, not ${bytes.length}.`)
  }
}

/** Whether two byte strings are the same. Nothing secret is compared here, so it may stop early. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}
