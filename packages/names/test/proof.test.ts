import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  encodeProof,
  itemHash,
  type NameItem,
  type Pin,
  PROOF_REFUSALS,
  type Proof,
  parseProof,
  RegistryState,
  type TrustFile,
  type Verdict,
  verifyProof,
} from '../src/index.ts'
import { type ProofRefusalCode } from '../src/testing.ts'
import { manifest, START_MS, sampleRegistry, TestRegistry } from './registry.ts'
import { approvalBy, signer, VERIFIER } from './signers.ts'

const NOW = { now: START_MS }
const DAY_MS = 86_400_000

/** Through the file, as a client would. */
function verify(proof: Proof, trust: TrustFile | undefined, options: Parameters<typeof verifyProof>[3] = NOW): Verdict {
  return verifyProof(parseProof(encodeProof(proof)), trust, VERIFIER, options)
}

const codeOf = (verdict: Verdict): string => (verdict.kind === 'refused' ? verdict.code : verdict.kind)
const checkNames = (verdict: Verdict): string[] =>
  verdict.kind === 'refused' ? [] : verdict.checked.map(({ check }) => check)

test('a name proof shows what the name means now, or that it means nothing', async () => {
  const registry = sampleRegistry()
  const meanings = { 'site@1.0': 'c', 'other@2.0': 'd', 'gone@1.0': null, 'never@1.0': null }
  for (const [name, digit] of Object.entries(meanings)) {
    const verdict = verify(await registry.nameProof(name), registry.trust())
    assert.equal(codeOf(verdict), 'verified', name)
    assert.ok(verdict.kind === 'verified' && verdict.finding.type === 'name')
    assert.equal(verdict.finding.item?.manifest ?? null, digit === null ? null : manifest(digit))
    assert.equal(verdict.finding.head.version, 6)
  }
})

test('a version proof verifies for every version, judged by the signers in force then', async () => {
  const registry = sampleRegistry()
  for (const { artifact } of registry.commits) {
    const verdict = verify(await registry.versionProof(artifact.version), registry.trust())
    assert.equal(codeOf(verdict), 'verified', `version ${artifact.version}`)
    assert.ok(verdict.kind === 'verified' && verdict.finding.type === 'version')
    assert.deepEqual(verdict.finding.artifact, artifact)
  }
})

test('without trust a proof is consistent, which is not verified', async () => {
  const registry = sampleRegistry()
  const verdict = verify(await registry.nameProof('site@1.0'), undefined)
  assert.ok(verdict.kind === 'consistent')
  const unchecked = verdict.unchecked.map(({ check }) => check)
  assert.deepEqual(unchecked, ['checkpoint_signature', 'genesis', 'witnesses', 'age', 'pin', 'fold'])
  assert.match(verdict.unchecked[2]!.detail, /split view is not excluded/)
})

test('a verdict says exactly what was checked and what was not', async () => {
  const registry = sampleRegistry()
  const plain = verify(await registry.nameProof('site@1.0'), registry.trust())
  assert.ok(plain.kind === 'verified')
  assert.deepEqual(plain.cosigned, { count: 0, of: 0 })
  assert.deepEqual(
    plain.unchecked.map(({ check }) => check),
    ['witnesses', 'age', 'pin', 'fold'],
  )
  const checkpoint = registry.checkpoint({ witnesses: 2, quantum: true })
  const trust = registry.trust({ threshold: 2, quantum: true })
  const first = registry.leaves.length - 4
  const pin: Pin = { trust, size: first, root: registry.root(first) }
  const proof = {
    ...(await registry.nameProof('site@1.0', checkpoint)),
    consistency: await registry.consistency(first),
  }
  const full = verify(proof, trust, { ...NOW, pin, maxCheckpointAgeMs: DAY_MS })
  assert.ok(full.kind === 'verified')
  assert.deepEqual(full.cosigned, { count: 2, of: 3 })
  assert.match(full.checked[1]!.detail, /cosigned 2 of 3; the policy asks for 2/)
  assert.deepEqual(
    full.unchecked.map(({ check }) => check),
    ['fold'],
  )
  const everything = [
    'checkpoint_signature',
    'witnesses',
    'age',
    'pin',
    'genesis',
    'inclusion',
    'signer_sets',
    'approvals',
  ]
  assert.deepEqual(checkNames(full), [...everything, 'current_head', 'state'])
})

test('a pin alone is trust enough, and the verdict gives the next pin', async () => {
  const registry = sampleRegistry()
  const before = verify(await registry.nameProof('site@1.0'), registry.trust())
  assert.ok(before.kind === 'verified')
  registry.setName('later@1.0', 'e', [signer(1), signer(4)])
  const proof = { ...(await registry.nameProof('later@1.0')), consistency: await registry.consistency(before.pin.size) }
  const after = verify(proof, undefined, { ...NOW, pin: before.pin })
  assert.ok(after.kind === 'verified')
  assert.equal(after.pin.size, registry.leaves.length)
  assert.ok(checkNames(after).includes('pin'))
})

/** How each refusal comes about: a proof, whom the reader trusts, and what it asks for. */
interface Case {
  readonly proof: Proof
  readonly trust?: TrustFile
  readonly options?: Partial<Parameters<typeof verifyProof>[3]>
}

const REFUSED: Readonly<Record<ProofRefusalCode, (registry: TestRegistry) => Promise<readonly Case[]>>> = {
  malformed: async (registry) => {
    const proof = await registry.nameProof('site@1.0')
    return [{ proof: { ...proof, checkpoint: new TextEncoder().encode('not a note') } }]
  },
  other_origin: async (registry) => {
    const other = new TestRegistry(registry.signers, 2, 7)
    const [proof, foreign] = [await registry.nameProof('site@1.0'), await other.versionProof(0)]
    const { size, root } = { size: 1, root: other.root() }
    return [{ proof: foreign }, { proof, options: { pin: { trust: other.trust(), size, root } } }]
  },
  other_genesis: async (registry) => {
    const proof = await registry.versionProof(3)
    const renamed = { ...proof, checkpoint: registry.checkpoint({ origin: 'registry.example.org/cairn/0000' }) }
    return [
      { proof, trust: { ...registry.trust(), genesis: manifest('0') } },
      { proof: { ...proof, commits: proof.commits.slice(1) } },
      { proof: renamed, trust: { ...registry.trust(), origin: 'registry.example.org/cairn/0000' } },
    ]
  },
  checkpoint_signature: async (registry) => {
    const proof = await registry.nameProof('site@1.0')
    const stranger = new TestRegistry([signer(9)], 1)
    const forged = { ...registry.trust(), logKeys: stranger.trust().logKeys }
    return [
      { proof, trust: forged },
      { proof, trust: registry.trust({ quantum: true }) },
    ]
  },
  witnesses: async (registry) => {
    const proof = await registry.nameProof('site@1.0', registry.checkpoint({ witnesses: 1 }))
    return [{ proof, trust: registry.trust({ threshold: 2 }) }]
  },
  no_timestamp: async (registry) => {
    const proof = await registry.nameProof('site@1.0', registry.checkpoint({ time: false }))
    return [{ proof }, { proof, options: { maxCheckpointAgeMs: DAY_MS } }]
  },
  too_old: async (registry) => {
    const proof = await registry.nameProof('site@1.0')
    return [{ proof, options: { now: START_MS + DAY_MS + 1, maxCheckpointAgeMs: DAY_MS } }]
  },
  from_the_future: async (registry) => {
    const proof = await registry.nameProof('site@1.0')
    return [{ proof, options: { now: START_MS - 61_000, maxCheckpointAgeMs: DAY_MS } }]
  },
  older_than_pin: async (registry) => {
    const proof = await registry.nameProof('site@1.0')
    const size = registry.leaves.length + 1
    return [{ proof, options: { pin: { trust: registry.trust(), size, root: registry.root() } } }]
  },
  consistency_missing: async (registry) => {
    const proof = await registry.nameProof('site@1.0')
    const pin = { trust: registry.trust(), size: 5, root: registry.root(5) }
    const other = { ...proof, consistency: await registry.consistency(6) }
    return [
      { proof, options: { pin } },
      { proof: other, options: { pin } },
    ]
  },
  forked: async (registry) => {
    const proof = await registry.nameProof('site@1.0')
    const [trust, size] = [registry.trust(), registry.leaves.length]
    const grown = { ...proof, consistency: await registry.consistency(5) }
    return [
      { proof, options: { pin: { trust, size, root: registry.root(3) } } },
      { proof: grown, options: { pin: { trust, size: 5, root: registry.root(4) } } },
    ]
  },
  not_included: async (registry) => {
    const proof = await registry.nameProof('site@1.0')
    const [genesis, next, ...rest] = proof.commits
    const moved = { ...next!, index: next!.index + 1 }
    const { artifact } = next!
    const altered = { ...next!, artifact: { ...artifact, committed_at: artifact.committed_at + 1 } }
    return [
      { proof: { ...proof, commits: [genesis!, moved, ...rest] } },
      { proof: { ...proof, commits: [genesis!, altered, ...rest] } },
      { proof: { ...proof, lastLeaf: { ...proof.lastLeaf, leaf: registry.leaves[0]! } } },
    ]
  },
  wrong_order: async (registry) => {
    const proof = await registry.nameProof('site@1.0')
    const [genesis, first, ...rest] = proof.commits
    return [
      { proof: { ...proof, commits: [genesis!, rest[0]!, first!, ...rest.slice(1)] } },
      { proof: { ...proof, commits: [genesis!, first!, first!, ...rest] } },
    ]
  },
  missing_signer_set_link: async (registry) => {
    const proof = await registry.nameProof('other@2.0')
    const withoutLink = proof.commits.filter(({ artifact }) => artifact.version !== 5)
    // The signers who were replaced and the log together: every signature is good, but a change of signers is missing.
    const [one, two] = registry.signers
    const name: NameItem = { kind: 'name', id: 'evil@1.0', prev: null, manifest: manifest('e') }
    const open = registry.propose([name], undefined, registry.commits[0]!.state.signerSet)
    for (const who of [one!, two!]) {
      open.approvals.push({ ...approvalBy(who, registry.log, open.proposal), role: 'current' })
    }
    registry.force(open)
    const evil = await registry.nameProof('evil@1.0')
    const hidden = evil.commits.filter(({ artifact }) => artifact.version !== 5)
    return [{ proof: { ...proof, commits: withoutLink } }, { proof: evil }, { proof: { ...evil, commits: hidden } }]
  },
  not_approved: async (registry) => {
    const name: NameItem = { kind: 'name', id: 'evil@1.0', prev: null, manifest: manifest('e') }
    const open = registry.propose([name])
    registry.approve(open, signer(4))
    registry.force(open)
    const tooFew = await registry.nameProof('evil@1.0')
    const twice = registry.propose([{ ...name, id: 'evil@2.0' }])
    registry.approve(twice, signer(4))
    twice.approvals.push(twice.approvals[0]!)
    registry.force(twice)
    return [{ proof: tooFew }, { proof: await registry.nameProof('evil@2.0') }]
  },
  wrong_subject: async (registry) => [{ proof: { ...(await registry.versionProof(3)), version: 2 } }],
  not_current: async (registry) => [{ proof: await registry.nameProof('site@1.0', registry.checkpoint(), 2) }],
  state_proof: async (registry) => {
    const [site, gone] = [await registry.nameProof('site@1.0'), await registry.nameProof('gone@1.0')]
    return [
      { proof: { ...site, item: null } },
      { proof: { ...site, itemProof: gone.itemProof } },
      { proof: { ...gone, item: site.item } },
      { proof: { ...site, name: 'other@2.0' } },
      { proof: { ...site, item: { ...site.item!, manifest: manifest('f') } } },
    ]
  },
  release_changed: async ({ signers }) => {
    const registry = new TestRegistry(signers, 2)
    const release = { kind: 'name', id: 'app@1.0', prev: null, manifest: manifest('a'), mutable: false } as const
    registry.publish([release])
    const open = registry.propose([{ kind: 'name', id: 'app@1.0', prev: itemHash(release), manifest: manifest('b') }])
    for (const who of signers.slice(0, 2)) registry.approve(open, who)
    registry.force(open, { state: RegistryState.EMPTY })
    const proof = { ...(await registry.versionProof(1)), version: 2, commits: await registry.provenCommits(2, [1]) }
    return [{ proof, trust: registry.trust() }]
  },
  item_not_approved: async (registry) => {
    const proof = await registry.nameProof('site@1.0')
    return [{ proof: { ...proof, commits: proof.commits.filter(({ artifact }) => artifact.version !== 3) } }]
  },
}

test('each way a proof can be wrong is refused with its own code', async (t) => {
  for (const code of Object.keys(PROOF_REFUSALS) as ProofRefusalCode[]) {
    await t.test(code, async () => {
      const registry = sampleRegistry()
      const honest = verify(await registry.nameProof('site@1.0'), registry.trust())
      assert.equal(honest.kind, 'verified', 'the untouched proof verifies')
      const cases = await REFUSED[code](registry)
      for (const { proof, trust = registry.trust(), options = {} } of cases) {
        assert.equal(codeOf(verify(proof, trust, { ...NOW, ...options })), code)
      }
    })
  }
})
