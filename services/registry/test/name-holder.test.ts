/** What names mean is held in storage: from before a proposal is answered until no name and no proposal means it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StorageClient } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { type Item, itemHash } from '@cairn/names'
import type { Address } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { ALICE, address, named, QuorumClient, rootsOf } from './signers.ts'

const NAME = 'site@live'
const OWNER = `name:${NAME}`
const DAY_MS = 24 * 3_600_000
const YEAR_MS = 365 * DAY_MS

type Tree = Pick<StorageClient, 'holdTree' | 'releaseTree'>

/** Holds of whole trees; a meaning is one object. */
class Holds implements Tree {
  readonly held = new Set<string>()
  /** Meanings of which nothing is here. */
  readonly absent = new Set<Address>()
  readonly asked: string[] = []
  isDown = false
  /** Called while a hold or a release is under way. */
  meanwhile: (() => Promise<void>) | undefined
  whileReleasing: (() => Promise<void>) | undefined

  readonly holdTree: Tree['holdTree'] = async (owner, root) => {
    await this.#under()
    this.asked.push(`hold ${root}`)
    if (this.absent.has(root)) throw new CairnError('NotFound', 'There is no such object.')
    const isNew = !this.held.has(`${owner} ${root}`)
    this.held.add(`${owner} ${root}`)
    return { objects: 1, changed: isNew ? 1 : 0, missing: 0, missingAddresses: [] }
  }

  readonly releaseTree: Tree['releaseTree'] = async (owner, root, keep) => {
    await this.#under()
    await this.whileReleasing?.()
    this.asked.push(`release ${root}`)
    if (!keep.includes(root)) this.held.delete(`${owner} ${root}`)
    return { objects: 1, changed: 1, missing: 0, missingAddresses: [] }
  }

  /** What is held in the name's name. */
  meanings(owner = OWNER): string[] {
    return [...this.held].filter((each) => each.startsWith(`${owner} `)).map((each) => each.slice(owner.length + 1))
  }

  async #under(): Promise<void> {
    await Promise.resolve()
    if (this.isDown) throw new CairnError('StorageBusy', 'Storage is away.', { code: 'unreachable' })
    await this.meanwhile?.()
  }
}

function withHolds(holds: Holds): ServiceOptions {
  return { ...rootsOf(1, [ALICE]), storage: holds as Partial<StorageClient> as StorageClient }
}

async function started(): Promise<{ holds: Holds; service: TestService; quorum: QuorumClient }> {
  const holds = new Holds()
  const service = await TestService.start(withHolds(holds))
  return { holds, service, quorum: new QuorumClient(service) }
}

function following(item: Item, meaning: string): Item {
  return named(NAME, meaning, itemHash(item))
}

const REMOVED = (item: Item): Item => ({ kind: 'name', id: NAME, prev: itemHash(item), deleted: true })

describe('what a name means is held', () => {
  test('before the proposal is answered, through the commit, until the name means something else', async () => {
    const { holds, service, quorum } = await started()
    const first = named(NAME, 'one')
    const opened = await quorum.propose([first])
    assert.deepEqual(holds.meanings(), [address('one')])
    await quorum.approve(opened, ALICE)
    await quorum.commit(opened)
    await service.sleep(70_000)
    assert.deepEqual(holds.meanings(), [address('one')])
    const second = following(first, 'two')
    const next = await quorum.propose([second])
    assert.deepEqual(holds.meanings(), [address('one'), address('two')])
    await service.sleep(70_000)
    assert.equal(holds.meanings().length, 2, 'the old one stays as long as the name means it')
    await quorum.approve(next, ALICE)
    await quorum.commit(next)
    await service.sleep(3000)
    assert.deepEqual(holds.meanings(), [address('two')])
    await quorum.publish([REMOVED(second)], [ALICE])
    await service.sleep(3000)
    assert.deepEqual(holds.meanings(), [])
    await service.stop()
  })

  test('and released once the proposal has expired, unless another one or the name itself means it', async () => {
    const { holds, service, quorum } = await started()
    const first = named(NAME, 'one')
    await quorum.publish([first], [ALICE])
    await quorum.propose([following(first, 'two')])
    const later = await service.restart({ ...withHolds(holds), wallSkewMs: DAY_MS / 2 })
    await new QuorumClient(later).propose([following(first, 'three')])
    await new QuorumClient(later).propose([following(first, 'one')])
    await later.sleep(70_000)
    assert.equal(holds.meanings().length, 3)
    const third = await later.restart({ ...withHolds(holds), wallSkewMs: 1.02 * DAY_MS })
    await third.sleep(70_000)
    assert.deepEqual(holds.meanings().toSorted(), [address('one'), address('three')].toSorted())
    // So long after it that nobody remembers the proposal.
    const last = await third.restart({ ...withHolds(holds), wallSkewMs: 3 * DAY_MS })
    await last.sleep(70_000)
    assert.deepEqual(holds.meanings(), [address('one')])
    await last.stop()
  })

  test('after a restart as before it, whatever storage has forgotten, and whatever was not released yet', async () => {
    const { holds, service, quorum } = await started()
    const first = named(NAME, 'one')
    await quorum.publish([first], [ALICE])
    await service.sleep(70_000)
    const opened = await quorum.propose([following(first, 'two')])
    holds.isDown = true
    await quorum.approve(opened, ALICE)
    assert.equal((await quorum.commit(opened)).status, 201)
    await service.sleep(3000)
    assert.equal(holds.meanings().length, 2, 'nothing could be released')
    const again = await service.restart(withHolds(holds))
    holds.isDown = false
    await again.sleep(70_000)
    assert.deepEqual(holds.meanings(), [address('two')])
    holds.held.clear()
    const third = await again.restart(withHolds(holds))
    await third.sleep(70_000)
    assert.deepEqual(holds.meanings(), [address('two')])
    await third.stop()
  })

  test('whatever the clock says: ten years on nothing goes', async () => {
    const { holds, service, quorum } = await started()
    await quorum.publish([named(NAME, 'one')], [ALICE])
    await service.sleep(70_000)
    const again = await service.restart({ ...withHolds(holds), wallSkewMs: 10 * YEAR_MS })
    await again.sleep(70_000)
    assert.deepEqual(holds.meanings(), [address('one')])
    assert.ok(!holds.asked.some((asked) => asked.startsWith('release')), holds.asked.join())
    await again.stop()
  })
})

test('a proposal that comes back to what is just being released keeps it', async () => {
  const { holds, service, quorum } = await started()
  const first = named(NAME, 'one')
  const second = following(first, 'two')
  await quorum.publish([first], [ALICE])
  holds.whileReleasing = async () => {
    holds.asked.push('begins to release')
    await service.world.sleep(2000)
  }
  await quorum.publish([second], [ALICE])
  await service.sleep(500)
  assert.deepEqual([holds.asked.at(-1), holds.meanings().length], ['begins to release', 2])
  await quorum.propose([following(second, 'one')])
  holds.whileReleasing = undefined
  await service.sleep(70_000)
  assert.deepEqual(holds.meanings().toSorted(), [address('one'), address('two')].toSorted())
  await service.stop()
})

test('what takes longer than a request is held all the same: asked again, the proposal is opened', async () => {
  const { holds, service } = await started()
  let isFirst = true
  holds.meanwhile = async () => {
    if (isFirst) await service.world.sleep(20_000)
    isFirst = false
  }
  const body = { payload: { items: [named(NAME, 'one')] } }
  const refused = await service.ask('POST', '/registry/proposals', { body })
  assert.equal(refused.status, 503)
  assert.match(refused.body.toString(), /still being held.*propose it again/)
  await service.sleep(60_000)
  assert.deepEqual(holds.meanings(), [address('one')])
  const asked = holds.asked.length
  assert.equal((await service.ask('POST', '/registry/proposals', { body })).status, 202)
  assert.equal(holds.asked.length, asked, 'nothing is left to do')
  await service.stop()
})

test('what was proposed once and never again is released', async () => {
  const { holds, service } = await started()
  let isFirst = true
  holds.meanwhile = async () => {
    if (isFirst) await service.world.sleep(20_000)
    isFirst = false
  }
  const body = { payload: { items: [named(NAME, 'one')] } }
  assert.equal((await service.ask('POST', '/registry/proposals', { body })).status, 503)
  await service.sleep(240_000)
  assert.deepEqual(holds.meanings(), [])
  await service.stop()
})

test('storage that is away refuses the proposal, and the log says nothing of it', async () => {
  const { holds, service } = await started()
  holds.isDown = true
  const { size } = service.parts.published.value
  const body = { payload: { items: [named(NAME, 'one')] } }
  assert.equal((await service.ask('POST', '/registry/proposals', { body })).status, 503)
  assert.equal(service.parts.published.value.size, size)
  holds.isDown = false
  assert.equal((await service.ask('POST', '/registry/proposals', { body })).status, 202)
  isProblem(await service.ask('POST', '/registry/proposals', { body: { payload: { items: [] } } }), 400, 'Malformed')
  await service.stop()
})

test('a name that means what is not here is a concern in /readyz until that is put', async () => {
  const { holds, service, quorum } = await started()
  holds.absent.add(address('one'))
  await quorum.publish([named(NAME, 'one')], [ALICE])
  await service.sleep(3000)
  const ready = await service.ask('GET', '/readyz')
  assert.equal(ready.status, 200)
  assert.equal(ready.fields()['degraded'], true)
  assert.match(String(ready.fields()['names_problem']), /The content of 1 name is not all here: site@live/)
  holds.absent.clear()
  await service.sleep(70_000)
  assert.equal((await service.ask('GET', '/readyz')).fields()['names_problem'], undefined)
  assert.deepEqual(holds.meanings(), [address('one')])
  await service.stop()
})
