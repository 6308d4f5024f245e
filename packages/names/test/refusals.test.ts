import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toBase64url } from '@cairn/wire'
import {
  itemHash,
  judgeApproval,
  judgeQuorum,
  type RefusalCode,
  type SignerSetItem,
  signerSetHash,
} from '../src/index.ts'
import { REFUSALS } from '../src/testing.ts'
import { manifest, type OpenProposal, TestRegistry } from './registry.ts'
import { approvalBy, publicPart, quantumSigner, signer, VERIFIER } from './signers.ts'

const [ANNA, BERT, CARL, DORA] = [signer(1, 'anna'), signer(2, 'bert'), signer(3, 'carl'), signer(4, 'dora')]
const DAY_MS = 86_400_000

function registryOf(): { registry: TestRegistry; open: OpenProposal } {
  const registry = new TestRegistry([ANNA, BERT, CARL], 2)
  const open = registry.propose([{ kind: 'name', id: 'site@1.0', prev: null, manifest: manifest('a') }])
  return { registry, open }
}

/** Each code, and a story that ends with it. */
const CASES: Readonly<Record<RefusalCode, readonly (() => string)[]>> = {
  expired: [
    () => {
      const { registry, open } = registryOf()
      registry.nowMs += DAY_MS
      return registry.approve(open, ANNA)
    },
    () => {
      const { registry, open } = registryOf()
      registry.approve(open, ANNA)
      registry.approve(open, BERT)
      registry.nowMs += DAY_MS
      return registry.commit(open)
    },
  ],
  not_a_signer: [
    () => {
      const { registry, open } = registryOf()
      return registry.approve(open, DORA)
    },
    () => {
      const { registry, open } = registryOf()
      registry.rotate([ANNA, BERT, signer(3, 'caroline')], 2)
      return registry.approve(registry.propose(open.payload.items), CARL)
    },
  ],
  revoked_key: [
    () => {
      const { registry, open } = registryOf()
      registry.rotate([ANNA, BERT, DORA], 2)
      assert.equal(registry.approve(open, CARL), 'revoked_key', 'at once, on proposals made before')
      return registry.approve(registry.propose(open.payload.items), CARL)
    },
    () => {
      const { registry, open } = registryOf()
      registry.rotate([ANNA, BERT, signer(9, 'carl')], 2)
      return registry.approve(registry.propose(open.payload.items), CARL)
    },
  ],
  stale_signer_set: [
    () => {
      const { registry, open } = registryOf()
      registry.rotate([ANNA, BERT, DORA], 2)
      return registry.approve(open, ANNA)
    },
    () => {
      const { registry, open } = registryOf()
      registry.approve(open, ANNA)
      registry.approve(open, BERT)
      registry.rotate([ANNA, BERT, DORA], 2)
      return registry.commit(open)
    },
  ],
  duplicate_approval: [
    () => {
      const { registry, open } = registryOf()
      assert.equal(registry.approve(open, ANNA), 'ok')
      return registry.approve(open, ANNA)
    },
  ],
  invalid_sig: [
    () => {
      const { registry, open } = registryOf()
      return registry.approve(open, ANNA, { ...approvalBy(BERT, registry.log, open.proposal), signer_id: 'anna' })
    },
    () => {
      const { registry, open } = registryOf()
      const elsewhere = new TestRegistry([ANNA, BERT, CARL], 2, 1)
      return registry.approve(open, ANNA, approvalBy(ANNA, elsewhere.log, open.proposal))
    },
    () => {
      const { registry, open } = registryOf()
      const other = registry.propose(open.payload.items)
      return registry.approve(open, ANNA, approvalBy(ANNA, registry.log, other.proposal))
    },
    () => {
      const { registry, open } = registryOf()
      return registry.approve(open, ANNA, { signer_id: 'anna', sig: toBase64url(new Uint8Array(2420)) })
    },
  ],
  quorum_failed: [
    () => {
      const { registry, open } = registryOf()
      registry.approve(open, ANNA)
      return registry.commit(open)
    },
    () => {
      const { registry } = registryOf()
      const open = registry.propose([nextSet(registry, [ANNA, BERT, DORA], 2)])
      registry.approve(open, ANNA)
      registry.approve(open, BERT)
      assert.deepEqual(judgeQuorum(registry.state.signerSet, open.payload, open.approvals).incoming.missing, ['dora'])
      return registry.commit(open)
    },
    () => {
      const { registry } = registryOf()
      const open = registry.propose([nextSet(registry, [ANNA, BERT, DORA], 2)])
      registry.approve(open, ANNA)
      assert.equal(registry.approve(open, DORA), 'ok', 'the new key signs')
      return registry.commit(open)
    },
  ],
  head_moved: [
    () => {
      const { registry, open } = registryOf()
      const item = { kind: 'region', id: 'eu', prev: null } as const
      const overrule = registry.propose([item], { of: registry.head.hash, reason: 'DataError' })
      for (const each of [open, overrule]) for (const who of [ANNA, BERT]) registry.approve(each, who)
      assert.equal(registry.commit(open), 'ok')
      return registry.commit(overrule)
    },
  ],
  release_fixed: ([{ deleted: true }, { manifest: manifest('b') }] as const).map((change) => () => {
    const { registry } = registryOf()
    const release = { kind: 'name', id: 'app@1.0', prev: null, manifest: manifest('a'), mutable: false } as const
    registry.publish([release])
    const open = registry.propose([{ kind: 'name', id: 'app@1.0', prev: itemHash(release), ...change }])
    for (const who of [ANNA, BERT]) registry.approve(open, who)
    return registry.commit(open)
  }),
  chain_mismatch: [
    () => {
      const { registry, open } = registryOf()
      const rival = registry.propose([{ kind: 'name', id: 'site@1.0', prev: null, manifest: manifest('b') }])
      for (const each of [open, rival]) for (const who of [ANNA, BERT]) registry.approve(each, who)
      assert.equal(registry.commit(open), 'ok')
      return registry.commit(rival)
    },
  ],
}

function nextSet(registry: TestRegistry, signers: (typeof ANNA)[], m: number): SignerSetItem {
  const prev = signerSetHash(registry.state.signerSet)
  return { kind: 'signer_set', id: 'root', prev, m, signers: signers.map(publicPart) }
}

test('each refusal has its own code and comes from its own story', async (t) => {
  for (const code of Object.keys(REFUSALS) as RefusalCode[]) {
    await t.test(code, () => {
      for (const story of CASES[code]) assert.equal(story(), code)
    })
  }
})

test('two of three are enough, a third changes nothing, and the artifact keeps all of them in order', () => {
  const { registry, open } = registryOf()
  for (const who of [CARL, ANNA, BERT]) assert.equal(registry.approve(open, who), 'ok')
  assert.equal(registry.commit(open), 'ok')
  const { artifact } = registry.commits.at(-1)!
  assert.deepEqual(
    artifact.approvals.map(({ signer_id }) => signer_id),
    ['carl', 'anna', 'bert'],
  )
})

test('a supersede commits while HEAD is the one it names', () => {
  const { registry } = registryOf()
  const item = { kind: 'region', id: 'eu', prev: null } as const
  const open = registry.propose([item], { of: registry.head.hash, reason: 'DataError' })
  for (const who of [ANNA, BERT]) assert.equal(registry.approve(open, who), 'ok')
  assert.equal(registry.commit(open), 'ok')
})

test('a signer replaces their own key: the old key decides, the new one shows it is held', () => {
  const { registry } = registryOf()
  const annasNew = signer(7, 'anna')
  const open = registry.propose([nextSet(registry, [annasNew, BERT, CARL], 2)])
  assert.equal(registry.approve(open, annasNew), 'ok')
  assert.equal(registry.approve(open, annasNew), 'duplicate_approval')
  assert.equal(registry.approve(open, BERT), 'ok')
  assert.equal(registry.commit(open), 'quorum_failed', 'the new key is no second vote')
  assert.equal(registry.approve(open, ANNA), 'ok')
  assert.equal(registry.commit(open), 'ok')
  assert.deepEqual(
    registry.commits.at(-1)!.artifact.approvals.map(({ role }) => role),
    ['incoming', 'current', 'current'],
  )
})

test('a key that only changes its id, and a set that only changes m, need no further signature', () => {
  const { registry } = registryOf()
  registry.rotate([signer(1, 'anna'), signer(2, 'bert'), signer(3, 'caroline')], 1)
  assert.equal(registry.state.signerSet.m, 1)
})

test('ML-DSA-44 signers approve like the others', () => {
  const quantum = quantumSigner('quantum')
  const registry = new TestRegistry([ANNA, quantum], 2)
  const open = registry.propose([{ kind: 'region', id: 'eu', prev: null }])
  const ed25519 = approvalBy(ANNA, registry.log, open.proposal)
  assert.equal(registry.approve(open, quantum, { ...ed25519, signer_id: 'quantum' }), 'invalid_sig')
  assert.equal(registry.approve(open, quantum), 'ok')
  assert.equal(registry.approve(open, ANNA), 'ok')
  assert.equal(registry.commit(open), 'ok')
})

test('a signature of the wrong length is not even shown to the verifier', () => {
  const { registry, open } = registryOf()
  const approvalCase = { ...open, log: registry.log, signerSet: registry.state.signerSet, formerSigners: [], now: 0 }
  const verifier = { verify: () => assert.fail('asked') }
  const request = { signer_id: 'anna', sig: toBase64url(new Uint8Array(2420)) }
  const judgement = judgeApproval(approvalCase, request, verifier)
  assert.ok(judgement.kind === 'refused' && judgement.code === 'invalid_sig')
})

test('a refusal names who and what to do next', () => {
  const { registry, open } = registryOf()
  const approvalCase = { ...open, log: registry.log, signerSet: registry.state.signerSet, formerSigners: [], now: 0 }
  const judgement = judgeApproval(approvalCase, approvalBy(DORA, registry.log, open.proposal), VERIFIER)
  assert.ok(judgement.kind === 'refused')
  assert.equal(judgement.detail, 'dora is not a signer of this registry; the signer set names those who are.')
})
