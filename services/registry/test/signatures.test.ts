/** What stands under a checkpoint beside the signature of the log: witnesses, and a key that outlives quantum computers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseProof, parseTrust, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { parseNote } from '@cairn/tlog'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { TestService, tokenFor } from './harness.ts'
import { ALICE, address, named, QuorumClient, rootsOf } from './signers.ts'
import { cosignature, WITNESS, WITNESSED } from './witness.ts'

const ROOTS = rootsOf(1, [ALICE])

async function noteOf(service: TestService): Promise<Uint8Array> {
  return (await service.ask('GET', '/log/checkpoint', { token: null })).body
}

async function trustOf(service: TestService) {
  return parseTrust((await service.ask('GET', '/registry/trust', { token: null })).body)
}

test('a witness puts its line under the checkpoint: proofs say so, until the log grows, also after a restart', async () => {
  const config = { ...ROOTS.config, ...WITNESSED, checkpoint_interval: '1m' }
  const options = { ...ROOTS, config }
  const service = await TestService.start(options)
  await new QuorumClient(service).publish([named('a@1', 'x')], [ALICE])
  const line = cosignature(await noteOf(service))
  const cosigned = await service.ask('POST', '/log/cosignatures', { body: line, token: tokenFor(['registry:anchor']) })
  assert.deepEqual([cosigned.status, cosigned.json()], [202, { size: 4 }])
  const witnesses = { threshold: 1, keys: [WITNESS] }
  const verdictAt = async (at: TestService) => {
    const trust = { ...(await trustOf(at)), witnesses }
    const proof = parseProof((await at.ask('GET', '/registry/proof/name/a@1')).body)
    return verifyProof(proof, trust, systemCrypto, { now: at.platform.clock.wall() })
  }
  const verdict = await verdictAt(service)
  assert.ok(verdict.kind === 'verified')
  assert.deepEqual(verdict.cosigned, { count: 1, of: 1 })
  const { timedAt } = service.parts.published.value
  await service.sleep(61_000)
  assert.ok(service.parts.published.value.timedAt > timedAt, 'a fresh time')
  assert.equal((await verdictAt(service)).kind, 'verified', 'the text is the same, and so is what the witness signed')
  await service.ask('POST', '/log/cosignatures', { body: cosignature(await noteOf(service), 1_800_000_000) })
  assert.equal(
    parseNote(await noteOf(service)).signatures.length,
    3,
    'a later line of one witness replaces the earlier',
  )
  const again = await service.restart(options)
  assert.equal((await verdictAt(again)).kind, 'verified')
  await again.ask('POST', '/log/audit-heads', { body: { head: address('x'), count: 1 } })
  const later = await verdictAt(again)
  assert.ok(later.kind === 'refused' && later.code === 'witnesses', 'of what came since it has seen nothing')
  await again.stop()
})

test('lines of strangers, of another checkpoint, or none at all are refused, and nothing changes', async () => {
  const service = await TestService.start({ ...ROOTS, config: { ...ROOTS.config, ...WITNESSED } })
  const old = cosignature(await noteOf(service))
  await new QuorumClient(service).publish([named('a@1', 'x')], [ALICE])
  const before = await noteOf(service)
  isProblem(await service.ask('POST', '/log/cosignatures', { body: old }), 422, 'InvalidSig')
  const stranger = cosignature(before).replace('witness.example/w1', 'witness.example/w2')
  isProblem(await service.ask('POST', '/log/cosignatures', { body: stranger }), 422, 'InvalidSig')
  isProblem(await service.ask('POST', '/log/cosignatures', { body: 'hello' }), 400, 'Malformed')
  assert.deepEqual(await noteOf(service), before)
  await service.stop()
})

test('with pq.mode = "hybrid" every checkpoint has an ML-DSA-44 signature too, which the trust file asks for', async () => {
  const options = { ...ROOTS, config: { ...ROOTS.config, pq: { mode: 'hybrid' } } } as const
  const before = await TestService.start(ROOTS)
  const service = await before.restart(options)
  await new QuorumClient(service).publish([named('a@1', 'x')], [ALICE])
  const trust = await trustOf(service)
  assert.deepEqual(
    trust.logKeys.map(({ type }) => type),
    ['ed25519', 'ed25519-cosignature', 'ml-dsa-44-cosignature'],
  )
  const proof = parseProof((await service.ask('GET', '/registry/proof/name/a@1')).body)
  const now = service.platform.clock.wall()
  const verdict = verifyProof(proof, trust, systemCrypto, { now })
  assert.equal(verdict.kind, 'verified', JSON.stringify(verdict))
  const plain = await service.restart(ROOTS)
  await new QuorumClient(plain).publish([named('b@1', 'x')], [ALICE])
  const without = parseProof((await plain.ask('GET', '/registry/proof/name/b@1')).body)
  const refused = verifyProof(without, trust, systemCrypto, { now })
  assert.ok(refused.kind === 'refused' && refused.code === 'checkpoint_signature', JSON.stringify(refused))
  assert.equal(verifyProof(without, await trustOf(plain), systemCrypto, { now }).kind, 'verified')
  await plain.stop()
})
