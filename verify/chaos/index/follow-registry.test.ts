/** The real registry and the index's view of it, in one process and in virtual time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Caller, NO_SCOPES, type RegistryClient, registryClient } from '@cairn/clients'
import type { Ingress } from '@cairn/http'
import type { Breakers } from '@cairn/kernel'
import { itemHash, parseProof, parseTrust, type TrustFile, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { InProcessTransport } from '@cairn/transport'
import { TestService } from '../../../services/registry/test/harness.ts'
import { ALICE, address, BOB, CAROL, named, QuorumClient, rootsOf } from '../../../services/registry/test/signers.ts'
import type { VirtualPlatform } from '../../virtual/machine.ts'
import { Viewing } from './viewing.ts'

/** A client of the service in the same process, as the node gives it to the index. */
function clientOf(service: () => TestService): (platform: VirtualPlatform, breakers: Breakers) => RegistryClient {
  return (runtime, breakers) => {
    const handle: Ingress['handle'] = async (request) => await service().running.ingress.handle(request)
    const transport = new InProcessTransport({ handle })
    const base = new URL('http://localhost/')
    return registryClient(new Caller({ runtime, transport, base, target: 'registry', breakers, grant: NO_SCOPES }))
  }
}

async function trustOf(service: TestService): Promise<TrustFile> {
  return parseTrust((await service.ask('GET', '/registry/trust', { token: null })).body)
}

async function headOf(service: TestService): Promise<number> {
  return Number((await service.ask('GET', '/registry/head', { token: null })).fields()['version'])
}

test('a commit is resolvable within 200 ms, with a proof that holds offline and no longer after one flipped byte', async () => {
  const registry = await TestService.start(rootsOf(2, [ALICE, BOB, CAROL]))
  const quorum = new QuorumClient(registry)
  const viewing = new Viewing(
    registry.world,
    clientOf(() => registry),
  )
  await viewing.until('following')
  const trust = await trustOf(registry)
  let before: ReturnType<typeof named> | undefined
  for (let version = 1; version <= 5; version += 1) {
    const item = named('site@1.0', `meaning ${version}`, before === undefined ? null : itemHash(before))
    await quorum.publish([item], [ALICE, CAROL])
    const committedAt = registry.world.clock.now()
    await viewing.reach(version)
    assert.equal(await viewing.meaning('site@1.0', trust), address(`meaning ${version}`))
    assert.ok(registry.world.clock.now() - committedAt < 200)
    before = item
  }
  const answer = await viewing.resolve('site@1.0')
  assert.ok(answer.tag === 'found')
  const now = viewing.platform.clock.wall()
  const kind = (bytes: Uint8Array): string => {
    try {
      return verifyProof(parseProof(bytes), trust, systemCrypto, { now }).kind
    } catch {
      return 'refused'
    }
  }
  assert.equal(kind(answer.proof), 'verified')
  for (let at = 0; at < answer.proof.length; at += 97) {
    const flipped = answer.proof.slice()
    flipped[at]! ^= 1
    assert.equal(kind(flipped), 'refused', `byte ${at}`)
  }
  await viewing.stop()
  await registry.stop()
})

test('a view that was off during 50 commits catches up exactly', async () => {
  const registry = await TestService.start(rootsOf(1, [ALICE, BOB]))
  const quorum = new QuorumClient(registry)
  const trust = await trustOf(registry)
  const meant = new Map<string, string>()
  const items = new Map<string, ReturnType<typeof named>>()
  const publish = async (name: string, meaning: string): Promise<void> => {
    const known = items.get(name)
    const item = named(name, meaning, known === undefined ? null : itemHash(known))
    await quorum.publish([item], [BOB])
    items.set(name, item)
    meant.set(name, address(meaning))
  }
  const exactly = async (viewing: Viewing): Promise<void> => {
    await viewing.reach(await headOf(registry))
    for (const [name, meaning] of meant) assert.equal(await viewing.meaning(name, trust), meaning, name)
    assert.deepEqual(viewing.view.readyFields()['version'], await headOf(registry))
  }
  for (let count = 0; count < 5; count += 1) await publish(`name-${count}@1`, `first ${count}`)
  const first = new Viewing(
    registry.world,
    clientOf(() => registry),
  )
  await exactly(first)
  await first.stop()
  for (let count = 0; count < 50; count += 1) await publish(`name-${count % 20}@1`, `second ${count}`)
  const removed = items.get('name-3@1')!
  await quorum.publish([{ kind: 'name', id: 'name-3@1', prev: itemHash(removed), deleted: true }], [ALICE])
  meant.delete('name-3@1')
  const second = new Viewing(
    registry.world,
    clientOf(() => registry),
  )
  await exactly(second)
  assert.deepEqual(await second.resolve('name-3@1'), { tag: 'absent' })
  // Killed, and the log goes on meanwhile.
  second.kill()
  for (let count = 0; count < 5; count += 1) await publish(`third-${count}@1`, `third ${count}`)
  const third = new Viewing(
    registry.world,
    clientOf(() => registry),
  )
  await exactly(third)
  await third.stop()
  await registry.stop()
})

test('many names at once are followed, and a proposal that was open while the view was off', async () => {
  const registry = await TestService.start(rootsOf(2, [ALICE, BOB, CAROL]))
  const quorum = new QuorumClient(registry)
  const viewing = new Viewing(
    registry.world,
    clientOf(() => registry),
  )
  await viewing.until('following')
  const trust = await trustOf(registry)
  const many = Array.from({ length: 60 }, (_, at) => named(`many-${at}@1`, `meaning ${at}`))
  await quorum.publish(many, [ALICE, BOB])
  const opened = await quorum.propose([named('late@1', 'late')])
  await quorum.approve(opened, ALICE)
  await viewing.reach(1)
  await viewing.stop()
  await quorum.approve(opened, CAROL)
  assert.equal((await quorum.commit(opened)).status, 201)
  const second = new Viewing(
    registry.world,
    clientOf(() => registry),
  )
  await second.reach(2)
  assert.equal(await second.meaning('late@1', trust), address('late'))
  assert.equal(await second.meaning('many-59@1', trust), address('meaning 59'))
  await second.stop()
  await registry.stop()
})

test('a registry that is stopped and comes back is followed again', async () => {
  const first = await TestService.start(rootsOf(1, [ALICE]))
  const { world, machine } = first
  const lives = [first]
  await new QuorumClient(first).publish([named('site@1.0', 'one')], [ALICE])
  const trust = await trustOf(first)
  const viewing = new Viewing(
    world,
    clientOf(() => lives.at(-1)!),
  )
  await viewing.reach(1)
  assert.equal(await viewing.meaning('site@1.0', trust), address('one'))
  await world.run(first.shutDown())
  await viewing.until('unreachable')
  assert.equal(await viewing.meaning('site@1.0', trust), address('one'))
  machine.kill()
  const second = await TestService.start({}, world, machine)
  lives.push(second)
  await new QuorumClient(second).publish([named('other@1', 'two')], [ALICE])
  await viewing.reach(2)
  assert.equal(await viewing.meaning('other@1', trust), address('two'))
  await viewing.stop()
  await second.stop()
})
