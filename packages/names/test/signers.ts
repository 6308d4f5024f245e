/** Keys for tests: real signatures by node:crypto, the same keys in every run where the algorithm allows it. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import type { SignatureAlgorithm, SignatureVerifier } from '@cairn/tlog'
import { toBase64url } from '@cairn/wire'
import type { LogIdentity, Proposal, Signer } from '../src/index.ts'
import { signingInput } from '../src/index.ts'

export interface TestSigner extends Signer {
  readonly publicKey: Uint8Array
  sign(message: Uint8Array): Uint8Array
}

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The signer of this number; two numbers have two keys. */
export function signer(number: number, id = `org:signer#${number}`): TestSigner {
  const seed = Buffer.alloc(32, number)
  return signerOf(
    id,
    'ed25519',
    createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, seed]), format: 'der', type: 'pkcs8' }),
  )
}

export function quantumSigner(id: string): TestSigner {
  return signerOf(id, 'ml-dsa-44', generateKeyPairSync('ml-dsa-44').privateKey)
}

function signerOf(id: string, algo: SignatureAlgorithm, key: KeyObject): TestSigner {
  const jwk: Record<string, unknown> = { ...createPublicKey(key).export({ format: 'jwk' }) }
  const text = String(jwk['x'] ?? jwk['pub'])
  return {
    id,
    algo,
    key: text,
    publicKey: Uint8Array.from(Buffer.from(text, 'base64url')),
    sign: (message) => Uint8Array.from(sign(null, message, key)),
  }
}

/** Reading a key costs more than a check, and the same few keys are asked for again and again. */
const KEYS = new Map<string, KeyObject>()

function publicKeyOf(algorithm: SignatureAlgorithm, publicKey: Uint8Array): KeyObject {
  const text = toBase64url(publicKey)
  const known = KEYS.get(text)
  if (known !== undefined) return known
  const jwk =
    algorithm === 'ed25519' ? { kty: 'OKP', crv: 'Ed25519', x: text } : { kty: 'AKP', alg: 'ML-DSA-44', pub: text }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  KEYS.set(text, key)
  return key
}

export const VERIFIER: SignatureVerifier = {
  verify: (algorithm, publicKey, message, signature) =>
    verify(null, message, publicKeyOf(algorithm, publicKey), signature),
}

export const publicPart = ({ id, algo, key }: Signer): Signer => ({ id, algo, key })

/** What the signer sends to approve. */
export function approvalBy(who: TestSigner, log: LogIdentity, proposal: Proposal) {
  return { signer_id: who.id, sig: toBase64url(who.sign(signingInput(log, proposal))) }
}
