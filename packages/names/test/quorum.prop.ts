import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { NameItem } from '../src/index.ts'
import { judgeQuorum } from '../src/index.ts'
import { manifest, TestRegistry } from './registry.ts'
import { approvalBy, signer, type TestSigner } from './signers.ts'

const OUTSIDERS = [signer(50), signer(51)]
/** Signers 30 and 31 are in the first set of every registry here and in no later one. */
const REVOKED = [signer(30), signer(31)]

const attempt = fc.record({
  who: fc.integer({ min: 0, max: 9 }),
  what: fc.constantFrom('right', 'right', 'right', 'other proposal', 'other log', "another's", 'damaged'),
})

interface Expected {
  readonly code: string
  readonly counts: boolean
}

function expectedFor(who: TestSigner, what: string, signers: readonly TestSigner[], done: Set<string>): Expected {
  if (REVOKED.includes(who)) return { code: 'revoked_key', counts: false }
  if (!signers.includes(who)) return { code: 'not_a_signer', counts: false }
  if (done.has(who.id)) return { code: 'duplicate_approval', counts: false }
  return what === 'right' ? { code: 'ok', counts: true } : { code: 'invalid_sig', counts: false }
}

test('a proposal commits exactly when m different signers in force have signed it, whoever else tries', () => {
  const size = fc.integer({ min: 1, max: 6 })
  fc.assert(
    fc.property(size, fc.nat(), fc.array(attempt, { maxLength: 16 }), (n, chance, attempts) => {
      const signers = Array.from({ length: n }, (_, at) => signer(1 + at))
      const m = 1 + (chance % n)
      const registry = new TestRegistry(REVOKED, 1)
      registry.rotate(signers, m, REVOKED)
      const elsewhere = new TestRegistry(signers, m, 9)
      const name: NameItem = { kind: 'name', id: 'site@1.0', prev: null, manifest: manifest('a') }
      const [open, other] = [registry.propose([name]), registry.propose([{ ...name, id: 'site@2.0' }])]
      const people = [...signers, ...REVOKED, ...OUTSIDERS]
      const done = new Set<string>()
      for (const { who: index, what } of attempts) {
        const who = people[index % people.length]!
        const expected = expectedFor(who, what, signers, done)
        const log = what === 'other log' ? elsewhere.log : registry.log
        const proposal = what === 'other proposal' ? other.proposal : open.proposal
        const hand = what === "another's" ? OUTSIDERS[0]! : who
        const signed = approvalBy(hand, log, proposal)
        const sig = what === 'damaged' ? `${signed.sig.startsWith('A') ? 'B' : 'A'}${signed.sig.slice(1)}` : signed.sig
        assert.equal(registry.approve(open, who, { signer_id: who.id, sig }), expected.code)
        if (expected.counts) done.add(who.id)
        const quorum = judgeQuorum(registry.state.signerSet, open.payload, open.approvals)
        assert.deepEqual(quorum.approved.toSorted(), [...done].sort())
        assert.equal(quorum.isMet, done.size >= m)
      }
      const before = registry.head
      assert.equal(registry.commit(open), done.size >= m ? 'ok' : 'quorum_failed')
      assert.equal(registry.head.version, before.version + (done.size >= m ? 1 : 0))
    }),
    { numRuns: 60 },
  )
})
