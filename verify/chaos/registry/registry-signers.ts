/** Who signs in the campaigns: two of three, and everybody is a fixed key. */
import type { Signer, SignerSet } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { toBase64url } from '@cairn/wire'

export interface TestSigner {
  readonly signer: Signer
  readonly seed: Uint8Array
}

function testSigner(id: string, fill: number): TestSigner {
  const seed = new Uint8Array(32).fill(fill)
  return { signer: { id, algo: 'ed25519', key: toBase64url(systemCrypto.ed25519PublicKey(seed)) }, seed }
}

export const TEST_SIGNERS: readonly TestSigner[] = [
  testSigner('alice', 1),
  testSigner('bob', 2),
  testSigner('carol', 3),
]

export const ROOTS: SignerSet = { m: 2, signers: TEST_SIGNERS.map(({ signer }) => signer) }

export function signatureOf({ seed }: TestSigner, signingInput: string): string {
  return toBase64url(systemCrypto.ed25519Signer(seed)(new TextEncoder().encode(signingInput)))
}
