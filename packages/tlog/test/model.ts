/** The definitions of RFC 6962 written out as they stand there, with another SHA-256: what the tests measure against. */
import { createHash } from 'node:crypto'
import type { HashReader } from '../src/index.ts'

function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return new Uint8Array(hash.digest())
}

/** Leaf hashes to grow trees of: SHA-256(0x00 ‖ index as text). */
export function makeLeaves(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => sha256(Uint8Array.of(0), Buffer.from(String(index))))
}

/** Trees over one list of leaf hashes, by the recursive definition, with a memory so that thousands of them are quick. */
export class NaiveTree {
  readonly leaves: readonly Uint8Array[]
  readonly #known = new Map<string, Uint8Array>()

  constructor(leaves: readonly Uint8Array[]) {
    this.leaves = leaves
  }

  /** MTH(D[start:end]). */
  hash(start: number, end: number): Uint8Array {
    if (end === start) return sha256()
    if (end - start === 1) return this.leaves[start] ?? new Uint8Array(0)
    const key = `${start}-${end}`
    const middle = start + split(end - start)
    const found = this.#known.get(key) ?? sha256(Uint8Array.of(1), this.hash(start, middle), this.hash(middle, end))
    this.#known.set(key, found)
    return found
  }

  root(size: number): Uint8Array {
    return this.hash(0, size)
  }

  /** PATH(index, D[start:end]). */
  path(index: number, start: number, end: number): Uint8Array[] {
    if (end - start === 1) return []
    const middle = start + split(end - start)
    return index < middle
      ? [...this.path(index, start, middle), this.hash(middle, end)]
      : [...this.path(index, middle, end), this.hash(start, middle)]
  }

  /** PROOF(from, D[0:to]). */
  consistency(from: number, to: number): Uint8Array[] {
    return this.#subproof(from, 0, to, true)
  }

  #subproof(from: number, start: number, end: number, known: boolean): Uint8Array[] {
    if (from === end) return known ? [] : [this.hash(start, end)]
    const middle = start + split(end - start)
    return from <= middle
      ? [...this.#subproof(from, start, middle, known), this.hash(middle, end)]
      : [...this.#subproof(from, middle, end, false), this.hash(start, middle)]
  }

  read: HashReader = (level, index) => this.hash(index * 2 ** level, (index + 1) * 2 ** level)
}

function split(size: number): number {
  return 2 ** Math.floor(Math.log2(size - 1))
}

/** A copy of `bytes` with one bit changed. */
export function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = bytes.slice()
  const at = Math.floor(bit / 8) % Math.max(1, copy.length)
  copy[at] = (copy[at] ?? 0) ^ (1 << (bit % 8))
  return copy
}
