import assert from 'node:assert/strict'
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import { addressOf } from './address.ts'
import {
  compareVersions,
  decodeStatement,
  type Statement,
  type StatementSigner,
  signStatement,
  statementFromText,
  statementText,
  type VerifySignature,
  verifyStatement,
} from './statement.ts'

const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

function signer(): StatementSigner {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const node = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' })).slice(SPKI.length)
  return { node, sign: (message) => new Uint8Array(sign(null, message, privateKey)) }
}

const verifies: VerifySignature = (key, message, signature) =>
  verify(null, message, { key: Buffer.concat([SPKI, key]), format: 'der', type: 'spki' }, signature)

const CLAIM: Omit<Statement, 'node'> = {
  verb: 'delete',
  epoch: 7,
  counter: 12,
  object: addressOf(Buffer.from('x')),
  owner: '',
  at: 1_790_000_000_000,
}

test('a statement is read as it was signed, through text as well', () => {
  const by = signer()
  for (const claim of [CLAIM, { ...CLAIM, verb: 'hold' as const, owner: 'registry/names' }]) {
    const signed = signStatement(by, claim)
    assert.deepEqual(statementFromText(statementText(signed.bytes)), { ...claim, node: by.node, bytes: signed.bytes })
    assert.ok(verifyStatement(decodeStatement(signed.bytes), verifies))
  }
})

test('a statement with any byte changed is refused, or is not verified', () => {
  const { bytes } = signStatement(signer(), { ...CLAIM, verb: 'release', owner: 'me' })
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = bytes.slice()
    changed[at] = (changed[at] ?? 0) ^ 1
    assert.equal(isBelieved(changed), false, `byte ${at}`)
  }
  for (const length of [0, 1, 90, bytes.length - 1]) assert.equal(isBelieved(bytes.slice(0, length)), false)
})

function isBelieved(bytes: Uint8Array): boolean {
  try {
    return verifyStatement(decodeStatement(bytes), verifies)
  } catch {
    return false
  }
}

test('versions are ordered by epoch, then node, then counter', () => {
  const node = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
  const order = [
    { epoch: 1, node: node(9), counter: 9 },
    { epoch: 2, node: node(1), counter: 5 },
    { epoch: 2, node: node(1), counter: 6 },
    { epoch: 2, node: node(2), counter: 1 },
    { epoch: 3, node: node(0), counter: 0 },
  ]
  for (const [at, one] of order.entries())
    for (const [with_, other] of order.entries())
      assert.equal(Math.sign(compareVersions(one, other)), Math.sign(at - with_))
})
