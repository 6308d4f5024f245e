import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemCrypto } from '@cairn/platform'
import { rememberingCrypto } from './remembering-crypto.ts'

const SEED = new Uint8Array(32).fill(1)
const OTHER = new Uint8Array(32).fill(2)
const MESSAGE = Buffer.from('message')

test('what is remembered is what is computed, for every key, message and signature', () => {
  const crypto = rememberingCrypto()
  for (const algorithm of ['ed25519', 'ml-dsa-44'] as const) {
    const isEd = algorithm === 'ed25519'
    const signer = isEd ? crypto.ed25519Signer : crypto.mlDsa44Signer
    const publicKeyOf = isEd ? crypto.ed25519PublicKey : crypto.mlDsa44PublicKey
    const signature = signer(SEED)(MESSAGE)
    for (const seed of [SEED, OTHER, SEED]) {
      for (const message of [MESSAGE, Buffer.from('massage'), MESSAGE]) {
        for (const signed of [signature, signature.slice(1), signer(OTHER)(message)]) {
          const key = publicKeyOf(seed)
          assert.deepEqual(key, isEd ? systemCrypto.ed25519PublicKey(seed) : systemCrypto.mlDsa44PublicKey(seed))
          const expected = systemCrypto.verify(algorithm, key, message, signed)
          for (const _again of [1, 2]) assert.equal(crypto.verify(algorithm, key, message, signed), expected)
          const verify = isEd ? crypto.ed25519Verify : crypto.mlDsa44Verify
          assert.equal(verify(key, message, signed), expected)
        }
      }
    }
  }
})

test('whoever writes over a key that was given harms nobody', () => {
  const crypto = rememberingCrypto()
  crypto.ed25519PublicKey(SEED).fill(0)
  assert.deepEqual(crypto.ed25519PublicKey(SEED), systemCrypto.ed25519PublicKey(SEED))
})
