import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { canonicalJson, equalBytes, parseJson, toBase64url } from '@cairn/wire'
import { sampleRegistry } from '../test/registry.ts'
import { createArtifact, createGenesis, headOf, proposalOf } from './artifact.ts'
import {
  createAuditHeadLeaf,
  createCommitLeaf,
  createProposalLeaf,
  createSnapshotLeaf,
  decodeLeaf,
  encodeLeaf,
  type LogLeaf,
  MAX_LEAF_BYTES,
} from './leaf.ts'
import { type Payload, payloadHash, proposalId } from './proposal.ts'

const ADDRESS = `b3:${'a'.repeat(64)}` as const
const HEAD = { version: 3, hash: ADDRESS }

test('every kind of leaf comes back from its bytes, and only from those bytes', () => {
  const registry = sampleRegistry()
  const extra: LogLeaf[] = [
    createAuditHeadLeaf(HEAD, { head: ADDRESS, count: 7 }),
    createAuditHeadLeaf(HEAD, { head: ADDRESS, count: 7, chain: '0f'.repeat(16) }),
    createSnapshotLeaf(HEAD, ADDRESS),
  ]
  const leaves = [...registry.leaves, ...extra]
  const types = new Set(leaves.map(({ type }) => type))
  assert.deepEqual([...types].sort(), ['approval', 'audit_head', 'commit', 'genesis', 'proposal', 'snapshot'])
  for (const leaf of leaves) {
    const bytes = encodeLeaf(leaf)
    assert.deepEqual(decodeLeaf(bytes), leaf)
    const spaced = new TextEncoder().encode(` ${new TextDecoder().decode(bytes)}`)
    assert.throws(() => decodeLeaf(spaced), /not in its canonical form/)
  }
})

test('each leaf carries the HEAD after all leaves before it, a commit the one it makes', () => {
  const registry = sampleRegistry()
  let head = registry.leaves[0]!.head
  for (const leaf of registry.leaves.slice(1)) {
    if (leaf.type === 'commit') {
      assert.equal(leaf.prev_hash, head.hash)
      assert.equal(leaf.head.version, head.version + 1)
      head = leaf.head
    }
    assert.deepEqual(leaf.head, head)
  }
  assert.deepEqual(head, registry.head)
})

test('an artifact is the sum of the leaves of its proposal, its approvals and its commit', () => {
  const registry = sampleRegistry()
  for (const { artifact } of registry.commits.slice(1)) {
    const { proposal_id: id } = artifact.proposal
    const proposed = registry.leaves.find((leaf) => leaf.type === 'proposal' && leaf.proposal.proposal_id === id)
    const approvals = registry.leaves.flatMap((leaf) =>
      leaf.type === 'approval' && leaf.proposal_id === id ? [leaf.approval] : [],
    )
    const commit = createCommitLeaf(artifact)
    assert.ok(proposed?.type === 'proposal' && proposed.payload !== undefined && commit.type === 'commit')
    const facts = { ...commit, version: commit.head.version }
    assert.deepEqual(createArtifact(facts, proposed.proposal, proposed.payload, approvals), artifact)
  }
})

test('a payload that does not fit into its leaf is named by its hash alone', () => {
  const payloadOf = (count: number): Payload => ({
    items: Array.from({ length: count }, (_, at) => ({
      kind: 'name',
      id: `n${at}@1`,
      prev: ADDRESS,
      manifest: ADDRESS,
    })),
  })
  const leafOf = (payload: Payload) => {
    const proposal = {
      proposal_id: proposalId(new Uint8Array(16)),
      expires_at: 1,
      signer_set_hash: ADDRESS,
      payload_b3: payloadHash(payload),
    }
    return createProposalLeaf(HEAD, proposal, payload)
  }
  assert.ok('payload' in leafOf(payloadOf(100)))
  const large = leafOf(payloadOf(1_000))
  assert.ok(!('payload' in large))
  assert.deepEqual(decodeLeaf(encodeLeaf(large)), large)
})

test('the largest signer set fits into the genesis leaf and into that of its proposal', () => {
  const signers = Array.from({ length: 32 }, (_, at) => ({
    id: `${at}`.padEnd(64, 'x'),
    algo: 'ml-dsa-44' as const,
    key: toBase64url(new Uint8Array(1312).fill(at)),
  }))
  const terms = { proposal_id: proposalId(new Uint8Array(16)), committed_at: Number.MAX_SAFE_INTEGER }
  const genesis = createGenesis({ m: 32, signers }, terms)
  const bytes = encodeLeaf(createCommitLeaf(genesis))
  assert.ok(bytes.length <= MAX_LEAF_BYTES)
  assert.deepEqual(decodeLeaf(bytes).head, headOf(genesis))
  const payload = { ...genesis.payload, note: '"'.repeat(256) }
  const proposal = { ...proposalOf(genesis), payload_b3: payloadHash(payload) }
  assert.ok('payload' in createProposalLeaf(HEAD, proposal, payload))
})

test('a leaf that is too long, unknown or of two minds is refused', () => {
  const leaf = createSnapshotLeaf(HEAD, ADDRESS)
  const withType = (type: string) => canonicalJson({ ...leaf, type })
  assert.throws(() => decodeLeaf(withType('other')), /type "other" is not known/)
  assert.throws(() => decodeLeaf(canonicalJson({ ...leaf, more: 1 })), /unknown field "more"/)
  assert.throws(() => decodeLeaf(canonicalJson({ ...leaf, schema: 'cairn.log/2' })), /must be "cairn.log\/1"/)
  assert.throws(() => decodeLeaf(new Uint8Array(MAX_LEAF_BYTES + 1)), /at most 65535 bytes/)
  const proposed = sampleRegistry().leaves.find(({ type }) => type === 'proposal')
  assert.ok(proposed?.type === 'proposal')
  const swapped = { ...proposed, payload: { items: [], note: 'x' } }
  assert.throws(() => decodeLeaf(canonicalJson(swapped)), /"items" must be a list/)
  const other = { ...proposed, proposal: { ...proposed.proposal, payload_b3: ADDRESS } }
  assert.throws(() => decodeLeaf(canonicalJson(other)), /payload_b3 is not the hash of its payload/)
  const note = 'x'.repeat(MAX_LEAF_BYTES)
  assert.throws(
    () => encodeLeaf({ ...proposed, payload: { items: [], note } }),
    (error) => isKind(error, 'TooLarge'),
  )
})

test('an artifact whose hash or genesis does not hold is refused', () => {
  const [genesis] = sampleRegistry().leaves
  assert.ok(genesis?.type === 'genesis')
  const bytes = encodeLeaf(genesis)
  assert.ok(equalBytes(canonicalJson(parseJson(bytes)), bytes))
  const swapped = { ...genesis, artifact: { ...genesis.artifact, payload_b3: ADDRESS } }
  assert.throws(() => decodeLeaf(canonicalJson(swapped)), /payload_b3 is not the hash of its payload/)
  const renamed = { ...genesis, head: HEAD }
  assert.throws(() => decodeLeaf(canonicalJson(renamed)), /HEAD/)
})
