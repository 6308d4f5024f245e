/** The formats byte for byte, computed without this package: what another implementation must arrive at. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { addressOf, digestOf, toHex } from '@cairn/wire'
import { artifactHash, createGenesis } from './artifact.ts'
import { itemHash } from './item.ts'
import { proposalId, signingInput } from './proposal.ts'
import { encodeSignerKey, parseSignerKey, signerSetHash } from './signer-set.ts'
import { RegistryState, stateLeaf, statePath } from './state.ts'

const ADDRESS = `b3:${'a'.repeat(64)}` as const
const sha256 = (...parts: (string | Uint8Array)[]) =>
  createHash('sha256')
    .update(Buffer.concat(parts.map((part) => Buffer.from(part as string))))
    .digest('hex')
const hashOfText = (text: string) => addressOf(new TextEncoder().encode(text))

const ITEM = { kind: 'name', id: 'site@1.0', prev: null, manifest: ADDRESS } as const
const ITEM_TEXT = `{"id":"site@1.0","kind":"name","manifest":"${ADDRESS}","prev":null}`
const KEY = 'A'.repeat(43)
const SIGNERS = { m: 1, signers: [{ id: 'anna', algo: 'ed25519', key: KEY }] } as const
const SET_TEXT = `{"id":"root","kind":"signer_set","m":1,"prev":null,"signers":[{"algo":"ed25519","id":"anna","key":"${KEY}"}]}`
const ID = proposalId(new Uint8Array(16).fill(0xab))

test('an item is hashed as its canonical JSON', () => {
  assert.equal(itemHash(ITEM), hashOfText(ITEM_TEXT))
})

test('the path and the leaf of an item in the state', () => {
  assert.equal(toHex(statePath('name', 'site@1.0')), sha256('name\0site@1.0'))
  const leaf = sha256('\0', 'name\0site@1.0\0', digestOf(itemHash(ITEM)))
  assert.equal(toHex(stateLeaf('name', 'site@1.0', itemHash(ITEM))), leaf)
})

test('the root of a state with one item is the node of its leaf alone', () => {
  const [path, leaf] = [statePath('name', 'site@1.0'), stateLeaf('name', 'site@1.0', itemHash(ITEM))]
  assert.equal(RegistryState.of([ITEM]).root, `sha256:${sha256('\u0002', path, leaf)}`)
  assert.equal(RegistryState.EMPTY.root, `sha256:${'0'.repeat(64)}`)
})

test('the signing input is a prefix and the canonical JSON of the terms', () => {
  const log = { origin: 'example.org/log/0123456789abcdef', genesis: ADDRESS }
  const proposal = { proposal_id: ID, expires_at: 1_800_000_000_000, signer_set_hash: ADDRESS, payload_b3: ADDRESS }
  const terms = (supersede: string) =>
    `cairn:registry:v1\n{"expires_at":1800000000000,"genesis":"${ADDRESS}","origin":"example.org/log/0123456789abcdef",` +
    `"payload_b3":"${ADDRESS}","proposal_id":"p_${'ab'.repeat(16)}","signer_set_hash":"${ADDRESS}"${supersede}}`
  assert.equal(new TextDecoder().decode(signingInput(log, proposal)), terms(''))
  const overruling = { ...proposal, supersede: { of: ADDRESS, reason: 'DataError' } }
  const spelled = `,"supersede":{"of":"${ADDRESS}","reason":"DataError"}`
  assert.equal(new TextDecoder().decode(signingInput(log, overruling)), terms(spelled))
})

test('the genesis artifact', () => {
  const genesis = createGenesis(SIGNERS, { proposal_id: ID, committed_at: 7 })
  const setHash = hashOfText(SET_TEXT)
  assert.equal(signerSetHash({ kind: 'signer_set', id: 'root', prev: null, ...SIGNERS }), setHash)
  const payload = `{"items":[${SET_TEXT}]}`
  const leaf = Buffer.from(sha256('\0', 'signer_set\0root\0', digestOf(setHash)), 'hex')
  const root = sha256('\u0002', Buffer.from(sha256('signer_set\0root'), 'hex'), leaf)
  const text =
    `{"approvals":[],"committed_at":7,"payload":${payload},"payload_b3":"${hashOfText(payload)}",` +
    `"prev_hash":"b3:${'0'.repeat(64)}","proposal":{"expires_at":7,"proposal_id":"${ID}"},"schema":"cairn.registry/1",` +
    `"signer_set_hash":"${setHash}","state_root":"sha256:${root}","version":0}`
  assert.equal(artifactHash(genesis), hashOfText(text))
})

test('a signer key file comes back from its one line', () => {
  const key = { signer: SIGNERS.signers[0], seed: new Uint8Array(32).fill(3) }
  const bytes = encodeSignerKey(key)
  assert.deepEqual(parseSignerKey(bytes), key)
  assert.throws(
    () => parseSignerKey(encodeSignerKey({ ...key, seed: new Uint8Array(31) })),
    /"seed" must be .* 32 bytes/,
  )
})
