import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { toBase64url } from '@cairn/wire'
import { encodeSignerKey, parseSignerKey, type SignerKey } from './signer-set.ts'

const SEED = new Uint8Array(32).fill(3)
const KEY: SignerKey = {
  signer: { id: 'alice', algo: 'ed25519', key: toBase64url(new Uint8Array(32).fill(5)) },
  seed: SEED,
}

test('a key file is one line and comes back as it was', () => {
  const bytes = encodeSignerKey(KEY)
  assert.deepEqual(parseSignerKey(bytes), KEY)
  const text = new TextDecoder().decode(bytes)
  assert.match(
    text,
    /^\{"algo":"ed25519","id":"alice","key":"[\w-]{43}","schema":"cairn\.signer-key\/1","seed":"[\w-]{43}"\}\n$/,
  )
})

test('anything else is refused, and no refusal repeats the secret', () => {
  const text = new TextDecoder().decode(encodeSignerKey(KEY))
  const secret = toBase64url(SEED)
  const bad = [
    '',
    '[]',
    text.slice(0, -3),
    text.replace('signer-key/1', 'signer-key/2'),
    text.replace('ed25519', 'rsa'),
    text.replace('alice', 'a b'),
    text.replace(secret, secret.slice(1)),
    text.replace('{', '{"more":1,'),
    text.replace('"key"', '"public"'),
  ]
  for (const each of bad) {
    assert.throws(
      () => parseSignerKey(new TextEncoder().encode(each)),
      (error) =>
        error instanceof CairnError && error.kind === 'Malformed' && !error.message.includes(secret.slice(0, 8)),
      each,
    )
  }
})
