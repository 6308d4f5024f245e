import type { PutResult } from './object-writer.ts'

/** Says how many copies there are, where that is fewer than there should be. */
export function copiesHeader(copies: PutResult['copies']): string[] {
  return copies === undefined || copies.made >= copies.wanted
    ? []
    : ['X-Cairn-Copies', `${copies.made}/${copies.wanted}`]
}
