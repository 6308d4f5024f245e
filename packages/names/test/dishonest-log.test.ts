/** What a log could try that writes and signs whatever it likes: the signers' part of a proof is not its to make. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MerkleMap } from '@cairn/tlog'
import { canonicalJson, parseJson, toHex } from '@cairn/wire'
import {
  createAuditHeadLeaf,
  createCommitLeaf,
  encodeProof,
  itemHash,
  type NameItem,
  type Proof,
  parseProof,
  RegistryState,
  type SignerSetItem,
  signerSetHash,
  verifyProof,
} from '../src/index.ts'
import { stateLeaf, statePath } from '../src/state.ts'
import { manifest, START_MS, sampleRegistry, TestRegistry } from './registry.ts'
import { approvalBy, publicPart, signer, VERIFIER } from './signers.ts'

const [ANNA, BERT] = [signer(1, 'anna'), signer(2, 'bert')]
const EVIL: NameItem = { kind: 'name', id: 'evil@1.0', prev: null, manifest: manifest('e') }

const twoOfTwo = () => new TestRegistry([ANNA, BERT], 2)

function refusalOf(registry: TestRegistry, proof: Proof): string {
  const verdict = verifyProof(proof, registry.trust(), VERIFIER, { now: START_MS })
  return verdict.kind === 'refused' ? verdict.code : verdict.kind
}

test('a commit that is not the one before it says is out of order', async () => {
  const registry = twoOfTwo()
  registry.setName('a@1', 'a')
  const open = registry.propose([EVIL])
  for (const who of [ANNA, BERT]) registry.approve(open, who)
  registry.force(open, { prev_hash: manifest('0') })
  registry.setName('b@1', 'b')
  const first = (await registry.provenCommits(3, [1, 2]))[1]!
  const proof = { ...(await registry.versionProof(2)), commits: await registry.provenCommits(2, [1]) }
  assert.equal(first.artifact.version, 1)
  assert.equal(refusalOf(registry, proof), 'wrong_order')
})

test('a version written again later stands at neither place', async () => {
  const registry = twoOfTwo()
  for (const name of ['a@1', 'b@1', 'c@1']) registry.setName(name, 'a')
  const again = registry.append(createCommitLeaf(registry.commits[1]!.artifact))
  const [genesis, one, three] = await registry.provenCommits(3, [1])
  const late = { artifact: one!.artifact, index: again, inclusion: await registry.inclusion(again) }
  const base = await registry.versionProof(1)
  assert.equal(refusalOf(registry, { ...base, commits: [genesis!, three!, late] }), 'wrong_order')
  const last = await registry.versionProof(3)
  assert.equal(refusalOf(registry, { ...last, commits: [genesis!, late, three!] }), 'wrong_order')
})

test('genesis has one form and one place', async () => {
  const lies = [{ prev_hash: manifest('1') }, { state_root: `sha256:${'0'.repeat(64)}` }, { committed_at: 5 }]
  for (const lie of lies) {
    const registry = new TestRegistry([ANNA], 1, 0, lie)
    assert.equal(refusalOf(registry, await registry.versionProof(0)), 'other_genesis', JSON.stringify(lie))
  }
  const registry = twoOfTwo()
  registry.setName('a@1', 'a')
  const proof = await registry.versionProof(1)
  const [genesis, ...rest] = proof.commits
  const index = registry.append(createCommitLeaf(genesis!.artifact))
  const grown = await registry.versionProof(0)
  const moved = { ...genesis!, index, inclusion: await registry.inclusion(index) }
  assert.equal(refusalOf(registry, { ...grown, commits: [moved] }), 'other_genesis')
  const unplaced = { ...genesis!, inclusion: genesis!.inclusion.toReversed() }
  assert.equal(refusalOf(registry, { ...proof, commits: [unplaced, ...rest] }), 'not_included')
})

test('one bad approval among enough good ones spoils the commit', async () => {
  const registry = new TestRegistry([ANNA, BERT, signer(3, 'carl')], 2)
  const open = registry.propose([EVIL])
  for (const who of [ANNA, BERT]) registry.approve(open, who)
  open.approvals.push({ ...open.approvals[0]!, signer_id: 'carl' })
  registry.force(open)
  assert.equal(refusalOf(registry, await registry.nameProof('evil@1.0')), 'not_approved')
})

test("a new key's signature cannot be passed off as a vote", async () => {
  const registry = twoOfTwo()
  const annasNew = signer(7, 'anna')
  const prev = signerSetHash(registry.state.signerSet)
  const next: SignerSetItem = { kind: 'signer_set', id: 'root', prev, m: 1, signers: [publicPart(annasNew)] }
  const open = registry.propose([next])
  registry.approve(open, BERT)
  const request = approvalBy(annasNew, registry.log, open.proposal)
  open.approvals.push({ ...request, role: 'current' }, { ...request, role: 'incoming' })
  registry.force(open)
  assert.equal(refusalOf(registry, await registry.versionProof(1)), 'not_approved')
})

test('a supersede that follows another version than it names was not agreed to', async () => {
  const registry = twoOfTwo()
  const open = registry.propose([EVIL], { of: manifest('9'), reason: 'DataError' })
  for (const who of [ANNA, BERT]) registry.approve(open, who)
  registry.force(open)
  assert.equal(refusalOf(registry, await registry.nameProof('evil@1.0')), 'not_approved')
})

test('a signer set that does not replace the one in force breaks the chain', async () => {
  const registry = twoOfTwo()
  const next: SignerSetItem = { kind: 'signer_set', id: 'root', prev: null, m: 1, signers: [publicPart(ANNA)] }
  const open = registry.propose([next])
  for (const who of [ANNA, BERT]) registry.approve(open, who)
  registry.force(open, { state: RegistryState.of([next]) })
  assert.equal(refusalOf(registry, await registry.versionProof(1)), 'missing_signer_set_link')
})

test('a last leaf with another HEAD of the same version is not about this history', async () => {
  const registry = twoOfTwo()
  registry.setName('a@1', 'a')
  registry.append(createAuditHeadLeaf({ version: 1, hash: manifest('9') }, { head: manifest('8'), count: 1 }))
  assert.equal(refusalOf(registry, await registry.nameProof('a@1')), 'not_current')
})

test('an item of one name cannot stand at the place of another', async () => {
  const registry = twoOfTwo()
  const open = registry.propose([EVIL])
  for (const who of [ANNA, BERT]) registry.approve(open, who)
  const set = registry.state.signerSet
  const paths = { set: statePath('signer_set', 'root'), name: statePath('name', 'bank@1.0') }
  const map = MerkleMap.EMPTY.set(paths.set, stateLeaf('signer_set', 'root', signerSetHash(set))).set(
    paths.name,
    stateLeaf('name', 'bank@1.0', itemHash(EVIL)),
  )
  registry.force(open, { state_root: `sha256:${toHex(map.root)}` })
  const proof = await registry.nameProof('evil@1.0')
  const [signerSet, itemProof] = [map.prove(paths.set), map.prove(paths.name)]
  assert.equal(refusalOf(registry, { ...proof, name: 'bank@1.0', signerSet, itemProof }), 'state_proof')
})

test('a proof file is its canonical bytes and no others', async () => {
  const registry = sampleRegistry()
  const bytes = encodeProof(await registry.nameProof('site@1.0'))
  const text = new TextDecoder().decode(bytes)
  for (const other of [`${text}\n`, JSON.stringify(parseJson(bytes), null, 1)]) {
    assert.throws(() => parseProof(new TextEncoder().encode(other)), /damaged/)
  }
  const { schema: _, ...rest } = parseJson(bytes) as Record<string, string>
  assert.throws(() => parseProof(canonicalJson(rest)), /damaged/)
})
