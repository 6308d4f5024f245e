/** Key pairs of every type and a verifier, straight from `node:crypto`. */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { noteSigner, type SignatureVerifier, type VerifierKey, verifierKey } from '../src/index.ts'
import { type KeyType, type NoteSigner } from '../src/testing.ts'

const SPKI_PREFIX = {
  ed25519: Buffer.from('302a300506032b6570032100', 'hex'),
  'ml-dsa-44': Buffer.from('30820532300b06096086480165030403110382052100', 'hex'),
}

export interface KeyPair {
  readonly key: VerifierKey
  readonly privateKey: KeyObject
  signer(timestamp?: number): NoteSigner
}

export function makeKeyPair(name: string, type: KeyType): KeyPair {
  const algorithm = type === 'ml-dsa-44-cosignature' ? 'ml-dsa-44' : 'ed25519'
  const { privateKey, publicKey } =
    algorithm === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ml-dsa-44')
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const key = verifierKey(name, type, new Uint8Array(spki.subarray(SPKI_PREFIX[algorithm].length)))
  return {
    key,
    privateKey,
    signer: (timestamp) => noteSigner(key, (message) => new Uint8Array(sign(null, message, privateKey)), timestamp),
  }
}

export const verifier: SignatureVerifier = {
  verify(algorithm, publicKey, message, signature) {
    const spki = Buffer.concat([SPKI_PREFIX[algorithm], publicKey])
    return verify(null, message, createPublicKey({ key: spki, format: 'der', type: 'spki' }), signature)
  },
}
