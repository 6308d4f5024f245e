/** Who signs in the campaigns: two of three, and everybody is a fixed key. */
import type { Signer, SignerSet } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { toBase64url } from '@cairn/wire'

export interface Person {
  readonly signer: Signer
  readonly seed: Uint8Array
}

function person(id: string, fill: number): Person {
  const seed = new Uint8Array(32).fill(fill)
  return { signer: { id, algo: 'ed25519', key: toBase64url(systemCrypto.ed25519PublicKey(seed)) }, seed }
}

export const PEOPLE: readonly Person[] = [person('alice', 1), person('bob', 2), person('carol', 3)]

export const ROOTS: SignerSet = { m: 2, signers: PEOPLE.map(({ signer }) => signer) }

export function signatureOf({ seed }: Person, signingInput: string): string {
  return toBase64url(systemCrypto.ed25519Signer(seed)(new TextEncoder().encode(signingInput)))
}
