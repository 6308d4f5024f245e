/** What is said of names: proofs, leaves and requests, as they came and with their own hashes put right. */
import assert from 'node:assert/strict'
import {
  decodeBody,
  decodeLeaf,
  encodeLeaf,
  encodePin,
  encodeProof,
  encodeTrust,
  type Finding,
  type Item,
  itemHash,
  type Payload,
  parseApprovalRequest,
  parseArtifact,
  parseName,
  parsePayload,
  parsePin,
  parseProof,
  parseProposalRequest,
  parseTrust,
  payloadHash,
  verifyProof,
} from '@cairn/names'
import { encodeLogProof, parseLogProof } from '@cairn/tlog/testing'
import { addressOf, canonicalJson, encodeCbor, type JsonObject, type JsonValue, parseJson } from '@cairn/wire'
import { manifest, START_MS, sampleRegistry } from '../../../packages/names/test/registry.ts'
import { VERIFIER } from '../../../packages/names/test/signers.ts'
import type { FuzzTarget } from '../fuzzer.ts'
import { attempt, bytesOf, textOf } from '../inputs.ts'
import { isObject, JSON_SHAPE } from './shapes.ts'

const REGISTRY = sampleRegistry()
const TRUST = REGISTRY.trust({ threshold: 2 })
const CHECKPOINT = REGISTRY.checkpoint({ witnesses: 2 })
const PROOFS = [
  await REGISTRY.nameProof('site@1.0', CHECKPOINT),
  await REGISTRY.nameProof('gone@1.0', CHECKPOINT),
  { ...(await REGISTRY.versionProof(2, CHECKPOINT)), consistency: await REGISTRY.consistency(3) },
]
const PIN = { trust: TRUST, size: 3, root: REGISTRY.root(3) }
const LOG_PROOF = { index: 3, proof: [new Uint8Array(32).fill(2)], checkpoint: CHECKPOINT }
const AUDIT = { type: 'audit_head', audit: { head: manifest('e'), count: 3 } }
const LEAF = { schema: 'cairn.log/1', head: REGISTRY.head }

/** The same, with every hash it has of a part of itself put right. */
function mended(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(mended)
  if (!isObject(value)) return value
  const { b3, ...rest } = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mended(member)]))
  const { payload, proposal } = rest
  const hash = payload === undefined ? undefined : addressOf(canonicalJson(payload))
  const inner: JsonObject = {
    ...rest,
    ...(hash !== undefined && 'payload_b3' in rest ? { payload_b3: hash } : {}),
    // The leaf of a proposal has the hash one level further in.
    ...(hash !== undefined && isObject(proposal) && 'payload_b3' in proposal
      ? { proposal: { ...proposal, payload_b3: hash } }
      : {}),
  }
  return b3 === undefined ? inner : { ...inner, b3: addressOf(canonicalJson(inner)) }
}

const proofs: FuzzTarget = {
  name: 'proofs',
  covers: [
    'packages/tlog/src/proof-file.ts',
    'packages/names/src/proof.ts',
    'packages/names/src/trust.ts',
    'packages/names/src/leaf.ts',
    'packages/names/src/verify-proof.ts',
    'packages/names/src/verify-checkpoint.ts',
  ],
  seeds: [
    ...PROOFS.map(encodeProof),
    ...REGISTRY.leaves.map(encodeLeaf),
    ...[AUDIT, { type: 'snapshot', snapshot: manifest('f') }].map((leaf) => canonicalJson({ ...LEAF, ...leaf })),
    encodeTrust(TRUST),
    encodePin(PIN),
    encodeLogProof(LOG_PROOF),
    encodeLogProof({ ...LOG_PROOF, extra: bytesOf('more') }),
  ],
  words: [
    'c2sp.org/tlog-proof@v1\n',
    'index ',
    '\n',
    'extra ',
    'proposal',
    'commit',
    'genesis',
    'site@1.0',
    'other@2.0',
  ],
  bytesMax: 24_000,
  shape: JSON_SHAPE,
  run: (input) => {
    const log = attempt(() => parseLogProof(input))
    if (log !== undefined) assert.deepEqual(encodeLogProof(log), input)
    const value = parseJson(input)
    const trust = attempt(() => parseTrust(input))
    if (trust !== undefined) assert.deepEqual(parseTrust(encodeTrust(trust)), trust)
    const pin = attempt(() => parsePin(input))
    if (pin !== undefined) assert.deepEqual(parsePin(encodePin(pin)), pin)
    const bytes = canonicalJson(mended(value))
    const leaf = attempt(() => decodeLeaf(bytes))
    if (leaf !== undefined) assert.deepEqual(encodeLeaf(leaf), bytes)
    const proof = attempt(() => parseProof(bytes))
    if (proof === undefined) return
    assert.deepEqual(encodeProof(proof), bytes)
    assert.notEqual(verifyProof(proof, undefined, VERIFIER, { now: START_MS }).kind, 'verified')
    for (const options of [{ now: START_MS }, { now: START_MS, pin: PIN, maxCheckpointAgeMs: 1000 }]) {
      const verdict = verifyProof(proof, TRUST, VERIFIER, options)
      if (verdict.kind === 'verified') holdFinding(verdict.finding)
    }
  },
}

/** Whatever a proof convinces of is what the registry says. */
function holdFinding(finding: Finding): void {
  if (finding.type === 'version') {
    const told = REGISTRY.commits[finding.artifact.version]?.artifact
    assert.deepEqual(finding.artifact, told, 'a version that never was is proved')
  } else {
    const meant = REGISTRY.state.get('name', finding.name) ?? null
    assert.deepEqual(finding.item, meant, 'a name is proved to mean what it does not')
  }
}

const ONE = manifest('1')
const ITEMS: readonly Item[] = [
  { kind: 'name', id: 'site@1.0', prev: null, manifest: ONE, type: 'text/html' },
  { kind: 'name', id: 'gone@1.0', prev: ONE, deleted: true },
  { kind: 'service', id: 'mail', prev: null, endpoint: 'https://a.example/x', title: 'Mail' },
  { kind: 'node', id: 'n1', prev: ONE, identity_key: 'A'.repeat(43), addrs: ['/ip4/10.0.0.1'], region: 'eu' },
  { kind: 'region', id: 'eu', prev: null, title: 'Europe' },
  { kind: 'upstream', id: 'u', prev: null, route: '/u', url: 'https://u.example/' },
]
const SIGNER_SET = REGISTRY.state.signerSet
const REQUESTS: readonly JsonValue[] = [
  { payload: { items: [...ITEMS], note: 'all of them' }, payload_b3: ONE },
  { payload: { items: [ITEMS[0] ?? null] }, supersede: { of: ONE, reason: 'wrong' }, proposal_id: 'p_' },
  { payload: { items: [{ ...SIGNER_SET, prev: ONE }] } },
  { signer_id: 'org:alice#1', sig: 'A'.repeat(86), signed_at: 1 },
  REGISTRY.commits.at(-1)?.artifact ?? null,
]

const requests: FuzzTarget = {
  name: 'registry-requests',
  covers: [
    'packages/names/src/approval.ts',
    'packages/names/src/artifact.ts',
    'packages/names/src/fields.ts',
    'packages/names/src/item.ts',
    'packages/names/src/proposal.ts',
    'packages/names/src/proposal.ts',
    'packages/names/src/proposal.ts',
    'packages/names/src/signer-set.ts',
    'packages/names/src/state.ts',
  ],
  seeds: [...REQUESTS.map((value) => canonicalJson(value)), bytesOf('site@1.0')],
  words: ['name', 'service', 'node', 'region', 'upstream', 'signer_set', 'deleted', 'prev', 'supersede', '@', 'root'],
  bytesMax: 4000,
  shape: JSON_SHAPE,
  run: (input) => {
    attempt(() => parseName(textOf(input)))
    attempt(() => parseProposalRequest(decodeBody(input, 'cbor')))
    const value = mended(parseJson(input))
    // The same request in the other spelling is the same request.
    assert.deepEqual(decodeBody(encodeCbor(value), 'cbor'), value)
    for (const read of [parseArtifact, parseApprovalRequest] as const) attempt(() => read(value))
    const asked = attempt(() => parseProposalRequest(value))
    const payload = asked?.payload ?? attempt(() => parsePayload(value))
    if (payload !== undefined) holdPayload(payload)
  },
}

/** What was read is spelled as it was read, and the state takes it or refuses it. */
function holdPayload(payload: Payload): void {
  assert.deepEqual(parsePayload(parseJson(canonicalJson(payload))), payload)
  assert.equal(payloadHash(payload), addressOf(canonicalJson(payload)))
  const applied = REGISTRY.state.apply(payload)
  if (applied.kind === 'refused') return
  for (const item of payload.items) {
    const found = applied.state.get(item.kind, item.id)
    assert.equal(found === undefined ? undefined : itemHash(found), 'deleted' in item ? undefined : itemHash(item))
  }
}

export const TARGETS: readonly FuzzTarget[] = [proofs, requests]
