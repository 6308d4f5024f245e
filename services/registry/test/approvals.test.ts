/** Who may decide: every approval that does not count is refused with its own code, and nothing but the log moves quorum. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { itemHash, type SignerSetItem, signerSetHash } from '@cairn/names'
import { declaredKeys } from '@cairn/platform'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { registrySection } from '../src/config.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import {
  ALICE,
  BOB,
  CAROL,
  MALLORY,
  named,
  type Opened,
  publicHalf,
  QuorumClient,
  rootsOf,
  sign,
  signer,
  type TestSigner,
} from './signers.ts'

const TWO_OF_THREE = rootsOf(2, [ALICE, BOB, CAROL])
const HOUR_MS = 3_600_000

function signerSet(service: TestService, m: number, signers: readonly TestSigner[]): SignerSetItem {
  const prev = signerSetHash(service.parts.published.value.state.signerSet)
  return { kind: 'signer_set', id: 'root', prev, m, signers: signers.map(publicHalf) }
}

async function rejected(service: TestService, action: string): Promise<number> {
  return await Promise.resolve(service.metric('rejected_total', { reason: action }))
}

describe('an approval that does not count', () => {
  test("an outsider's is NotASigner, whoever he says he is InvalidSig", async () => {
    const service = await TestService.start(TWO_OF_THREE)
    const quorumClient = new QuorumClient(service)
    const opened = await quorumClient.propose([named('a@1', 'x')])
    isProblem(await quorumClient.approve(opened, MALLORY), 422, 'NotASigner')
    isProblem(await quorumClient.approve(opened, { ...MALLORY, id: ALICE.id }), 422, 'InvalidSig')
    assert.equal(await rejected(service, 'NotASigner'), 1)
    assert.equal(await rejected(service, 'InvalidSig'), 1)
    const seen = (await service.ask('GET', `/registry/proposals/${opened.proposal_id}`)).fields()
    assert.deepEqual(seen['approvals'], [])
    await service.stop()
  })

  test('a second one of the same signer is DuplicateApproval, also in the same batch', async () => {
    const service = await TestService.start(TWO_OF_THREE)
    const quorumClient = new QuorumClient(service)
    const opened = await quorumClient.propose([named('a@1', 'x')])
    assert.equal((await quorumClient.approve(opened, ALICE)).status, 200)
    isProblem(await quorumClient.approve(opened, ALICE), 409, 'DuplicateApproval')
    const together = new QuorumClient(service, 'send')
    const both = [together.approve(opened, BOB), together.approve(opened, BOB)]
    const codes = (await service.world.run(Promise.all(both))).map(({ status, code }) => `${status} ${code}`)
    assert.deepEqual(codes.sort(), ['200 undefined', '409 DuplicateApproval'])
    await service.stop()
  })

  test('one made for another proposal, or for another log, is InvalidSig', async () => {
    const service = await TestService.start(TWO_OF_THREE)
    const other = await TestService.start(TWO_OF_THREE)
    const [quorumClient, elsewhere] = [new QuorumClient(service), new QuorumClient(other)]
    const items = [named('a@1', 'x')]
    const [first, second, foreign] = [
      await quorumClient.propose(items),
      await quorumClient.propose(items),
      await elsewhere.propose(items),
    ]
    const replay = async (input: string) => {
      const body = { signer_id: ALICE.id, sig: sign(input, ALICE) }
      return await service.ask('POST', `/registry/approvals/${second.proposal_id}`, { body })
    }
    isProblem(await replay(first.signing_input), 422, 'InvalidSig')
    isProblem(await replay(foreign.signing_input), 422, 'InvalidSig')
    assert.equal((await replay(second.signing_input)).status, 200)
    await service.stop()
    await other.stop()
  })

  test('one that comes after 24 hours is Expired, and so is the commit; later nobody remembers', async () => {
    const service = await TestService.start(TWO_OF_THREE)
    const opened = await new QuorumClient(service).propose([named('a@1', 'x')])
    for (const by of [ALICE, BOB]) await new QuorumClient(service).approve(opened, by)
    const atLast = await service.restart({ ...TWO_OF_THREE, wallSkewMs: 24 * HOUR_MS - 60_000 })
    assert.equal((await new QuorumClient(atLast).approve(opened, CAROL)).status, 200, 'just in time')
    const after = await atLast.restart({ ...TWO_OF_THREE, wallSkewMs: 24 * HOUR_MS })
    isProblem(await new QuorumClient(after).approve(opened, CAROL), 409, 'Expired')
    isProblem(await new QuorumClient(after).commit(opened), 409, 'Expired')
    const seen = await after.ask('GET', `/registry/proposals/${opened.proposal_id}`)
    assert.equal(seen.fields()['status'], 'expired')
    const later = await after.restart({ ...TWO_OF_THREE, wallSkewMs: 26 * HOUR_MS })
    isProblem(await new QuorumClient(later).commit(opened), 404, 'NotFound')
    await later.stop()
  })

  test('one for a version that is there already is AlreadyCommitted; for a proposal nobody made, NotFound', async () => {
    const service = await TestService.start(TWO_OF_THREE)
    const quorumClient = new QuorumClient(service)
    const opened = await quorumClient.propose([named('a@1', 'x')])
    for (const by of [ALICE, BOB]) await quorumClient.approve(opened, by)
    await quorumClient.commit(opened)
    isProblem(await quorumClient.approve(opened, CAROL), 409, 'AlreadyCommitted')
    isProblem(await quorumClient.approve({ ...opened, proposal_id: `p_${'0'.repeat(32)}` }, ALICE), 404, 'NotFound')
    isProblem(await quorumClient.approve({ ...opened, proposal_id: 'p_1' }, ALICE), 400, 'Malformed')
    await service.stop()
  })
})

describe('a change of signers', () => {
  const DAVE = signer('org:example#dave', 4)

  test('needs the old quorum and the new key, voids open approvals, and revokes the key that is gone', async () => {
    const service = await TestService.start(TWO_OF_THREE)
    const quorumClient = new QuorumClient(service)
    const pending = await quorumClient.propose([named('a@1', 'x')])
    for (const by of [ALICE, CAROL]) assert.equal((await quorumClient.approve(pending, by)).status, 200)
    const rotation = await quorumClient.propose([signerSet(service, 2, [BOB, CAROL, DAVE])])
    await quorumClient.approve(rotation, ALICE)
    await quorumClient.approve(rotation, BOB)
    const early = await quorumClient.commit(rotation)
    isProblem(early, 422, 'QuorumFailed')
    const { incoming } = early.fields()['quorum'] as { incoming: { missing: string[] } }
    assert.deepEqual(incoming.missing, [DAVE.id])
    assert.equal((await quorumClient.approve(rotation, DAVE)).status, 200)
    assert.equal((await quorumClient.commit(rotation)).status, 201)

    isProblem(await quorumClient.commit(pending), 409, 'StaleSignerSet')
    isProblem(await quorumClient.approve(pending, BOB), 409, 'StaleSignerSet')
    const next = await quorumClient.propose([named('a@1', 'x')])
    isProblem(await quorumClient.approve(next, ALICE), 422, 'RevokedKey')
    for (const by of [BOB, DAVE]) assert.equal((await quorumClient.approve(next, by)).status, 200)
    assert.equal((await quorumClient.commit(next)).status, 201)
    const again = await service.restart(TWO_OF_THREE)
    const later = new QuorumClient(again)
    const last = await later.propose([named('b@1', 'x')])
    isProblem(await later.approve(last, ALICE), 422, 'RevokedKey')
    assert.equal((await again.ask('GET', '/registry/proof/name/a@1')).status, 200)
    await again.stop()
  })

  test('is the only item of its proposal, and must follow the set in force', async () => {
    const service = await TestService.start(TWO_OF_THREE)
    const quorumClient = new QuorumClient(service)
    const set = signerSet(service, 1, [ALICE])
    const body = { payload: { items: [set, named('a@1', 'x')] } }
    isProblem(await service.ask('POST', '/registry/proposals', { body }), 400, 'Malformed')
    const stale = await quorumClient.propose([{ ...set, prev: null }])
    for (const by of [ALICE, BOB]) await quorumClient.approve(stale, by)
    isProblem(await quorumClient.commit(stale), 409, 'ChainMismatch')
    assert.equal(service.metric('commit_cas_fail_total'), 1)
    await service.stop()
  })
})

test('supersede commits only while HEAD is the version it names', async () => {
  const service = await TestService.start(TWO_OF_THREE)
  const quorumClient = new QuorumClient(service)
  const item = named('a@1', 'wrong')
  const { hash } = await quorumClient.publish([item], [ALICE, BOB])
  const fix = named('a@1', 'right', itemHash(item))
  const supersede = { of: hash, reason: 'DataError' }
  const opened = await quorumClient.propose([fix], { supersede })
  for (const by of [ALICE, BOB]) await quorumClient.approve(opened, by)
  await quorumClient.publish([named('b@1', 'other')], [ALICE, BOB])
  isProblem(await quorumClient.commit(opened), 409, 'ChainMismatch')
  const { hash: newest } = await quorumClient.publish([named('c@1', 'third')], [ALICE, BOB])
  const { version } = await quorumClient.publish([fix], [ALICE, BOB], {
    supersede: { of: newest, reason: 'DataError' },
  })
  assert.equal(version, 4)
  assert.equal(service.metric('registry_updates_total', { result: 'superseded' }), 1)
  assert.equal(service.metric('registry_updates_total', { result: 'rejected' }), 1)
  await service.stop()
})

test('no configuration key and no route but the three of a commit can change signers or quorum', async () => {
  const keys = declaredKeys({ registry: registrySection }).map(({ key }) => key)
  const suspicious = keys.filter((key) =>
    /signer|quorum|threshold|approv|\bm\b|bypass|force|emergency|maintenance/i.test(key),
  )
  assert.deepEqual(suspicious, [])
  const service = await TestService.start(TWO_OF_THREE)
  const { registryRoutes } = await import('../src/main.ts')
  const writes = registryRoutes(service.parts).filter(({ method }) => method !== 'GET')
  assert.deepEqual(writes.map(({ method, path, scope }) => `${method} ${path} ${scope}`).sort(), [
    'POST /admin/adopt registry:admin',
    'POST /admin/verify registry:admin',
    'POST /log/audit-heads registry:anchor',
    'POST /log/checkpoint/seen undefined',
    'POST /log/cosignatures registry:anchor',
    'POST /registry/approvals/:id registry:approve',
    'POST /registry/commit/:id registry:commit',
    'POST /registry/proposals registry:propose',
  ])
  const before = service.parts.published.value.state.signerSet
  await service.ask('POST', '/admin/verify')
  await service.ask('POST', '/admin/adopt', { body: 'x' })
  await service.ask('POST', '/log/cosignatures', { body: 'x' })
  await service.ask('POST', '/log/checkpoint/seen', { body: 'x' })
  await service.ask('POST', '/log/audit-heads', { body: { head: signerSetHash(before), count: 1 } })
  const opened = await new QuorumClient(service).propose([signerSet(service, 1, [MALLORY])])
  isProblem(await new QuorumClient(service).commit(opened), 422, 'QuorumFailed')
  assert.deepEqual(service.parts.published.value.state.signerSet, before)
  await service.stop()
})

test('a proposer with an id of its own opens one proposal, however often it asks, also after the commit', async () => {
  const service = await TestService.start(rootsOf(1, [ALICE]))
  const quorumClient = new QuorumClient(service)
  const id = `p_${'0a'.repeat(16)}`
  const body = { payload: { items: [named('a@1', 'x')] }, proposal_id: id }
  const together = Array.from({ length: 4 }, async () => await service.send('POST', '/registry/proposals', { body }))
  const codes = (await service.world.run(Promise.all(together))).map(({ status, code }) => `${status} ${code}`)
  assert.deepEqual(codes.sort(), ['202 undefined', ...new Array<string>(3).fill('409 ProposalExists')])
  const opened = (await service.ask('GET', `/registry/proposals/${id}`)).json() as Opened
  assert.equal((await quorumClient.approve(opened, ALICE)).status, 200)
  assert.equal((await quorumClient.commit(opened)).status, 201)
  isProblem(await service.ask('POST', '/registry/proposals', { body }), 409, 'ProposalExists')
  isProblem(
    await service.ask('POST', '/registry/proposals', { body: { ...body, proposal_id: 'mine' } }),
    400,
    'Malformed',
  )
  await service.stop()
})

/** Something for every kind of key, in the order they are tried. */
const OTHER_VALUES = [
  '2h',
  '90s',
  '2s',
  2000,
  200,
  7,
  '64MiB',
  true,
  'hybrid',
  'by-age',
  'debug',
  'x.example/y',
  [],
] as const

/** The section with one key changed to the first of these values that it takes. */
function changed(key: string, before: object) {
  const path = key.split('.').slice(1)
  for (const value of OTHER_VALUES) {
    const input = path.reduceRight<unknown>((inner, part) => ({ [part]: inner }), value) as object
    const parsed = registrySection.safeParse(merged(before, input))
    if (parsed.success) return merged(before, input) as ServiceOptions['config']
  }
  return undefined
}

function merged(a: object, b: object): object {
  const both: Record<string, unknown> = { ...a }
  for (const [name, value] of Object.entries(b)) {
    const old = both[name]
    const isSection = typeof old === 'object' && old !== null && typeof value === 'object' && !Array.isArray(value)
    both[name] = isSection ? merged(old, value as object) : value
  }
  return both
}

test('whatever configuration key is changed: the signers and their quorum are those of the log, or it does not start', async () => {
  const service = await TestService.start(TWO_OF_THREE)
  await new QuorumClient(service).publish([named('a@1', 'x')], [ALICE, BOB])
  const before = service.parts.published.value.state.signerSet
  const tried: string[] = []
  await service.stop()
  service.machine.kill()
  for (const { key } of declaredKeys({ registry: registrySection })) {
    const config = changed(key, TWO_OF_THREE.config ?? {})
    if (config === undefined) continue
    tried.push(key)
    try {
      const other = await TestService.start({ ...TWO_OF_THREE, config }, service.world, service.machine)
      assert.deepEqual(other.parts.published.value.state.signerSet, before, key)
      isProblem(
        await new QuorumClient(other).commit(await new QuorumClient(other).propose([named(`${tried.length}@1`, 'x')])),
        422,
        'QuorumFailed',
      )
      await other.stop()
    } catch (error) {
      assert.ok(error instanceof CairnError, `${key}: ${String(error)}`)
    }
    service.machine.kill()
  }
  assert.ok(tried.length > 25, tried.join(' '))
})
