/** The whole index beside the whole registry: a name as somebody who asks the index sees it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Caller, NO_SCOPES, registryClient } from '@cairn/clients'
import type { Ingress } from '@cairn/http'
import { Breakers } from '@cairn/kernel'
import { itemHash, parseProof, parseTrust, type TrustFile, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { InProcessTransport } from '@cairn/transport'
import { TestService as TestIndex } from '../../../services/index/test/harness.ts'
import { TestService as TestRegistry } from '../../../services/registry/test/harness.ts'
import { ALICE, address, BOB, CAROL, named, QuorumClient, rootsOf } from '../../../services/registry/test/signers.ts'
import type { VirtualPlatform } from '../../virtual/machine.ts'

interface Node {
  readonly registry: TestRegistry
  readonly index: TestIndex
  readonly quorum: QuorumClient
  readonly trust: TrustFile
  stop(): Promise<void>
}

/** Both services on one clock, each through the other's ingress, as a node composes them. */
async function startNode(): Promise<Node> {
  const registry = await TestRegistry.start(rootsOf(2, [ALICE, BOB, CAROL]))
  const { world } = registry
  const platform = world.machine('caller').start()
  const breakers = new Breakers(platform)
  const index = await TestIndex.start(
    { registry: clientOf(platform, breakers, registry) },
    world,
    world.machine('index'),
  )
  await registry.sleep(100)
  const trust = parseTrust((await registry.ask('GET', '/registry/trust', { token: null })).body)
  const stop = async (): Promise<void> => {
    await world.run(index.shutDown())
    breakers.close()
    await world.run(platform.workers.close())
    await registry.stop()
  }
  return { registry, index, quorum: new QuorumClient(registry), trust, stop }
}

function clientOf(runtime: VirtualPlatform, breakers: Breakers, { running }: TestRegistry) {
  const handle: Ingress['handle'] = async (request) => await running.ingress.handle(request)
  const transport = new InProcessTransport({ handle })
  const base = new URL('http://localhost/')
  return registryClient(new Caller({ runtime, transport, base, target: 'registry', breakers, grant: NO_SCOPES }))
}

/** What the index says a name means, by a proof that holds. */
async function meaning({ index, trust }: Pick<Node, 'index' | 'trust'>, name: string, query = ''): Promise<string> {
  const answer = await index.ask('GET', `/resolve/name:${name}${query}`, { token: null })
  if (answer.status !== 200) return `${answer.status} ${answer.code}`
  const { manifest_cid: cid, proof } = answer.fields()
  const now = index.platform.clock.wall()
  const verdict = verifyProof(parseProof(Buffer.from(String(proof))), trust, systemCrypto, { now })
  assert.ok(verdict.kind === 'verified' && verdict.finding.type === 'name', JSON.stringify(verdict))
  assert.equal(verdict.finding.item?.manifest, cid)
  return String(cid)
}

test('a commit is there for the next question within 200 ms, whatever was cached before', async () => {
  const node = await startNode()
  const { registry, quorum: story } = node
  assert.equal(await meaning(node, 'site@1.0'), '404 not_found')
  let before: ReturnType<typeof named> | undefined
  for (let version = 1; version <= 4; version += 1) {
    const item = named('site@1.0', `meaning ${version}`, before === undefined ? null : itemHash(before))
    await story.publish([item], [ALICE, CAROL])
    const committedAt = registry.world.clock.now()
    while ((await meaning(node, 'site@1.0')) !== address(`meaning ${version}`)) {
      assert.ok(registry.world.clock.now() - committedAt < 200, `version ${version} is not there`)
      await registry.sleep(5)
    }
    assert.ok(registry.world.clock.now() - committedAt < 200)
    before = item
  }
  const cached = await node.index.ask('GET', '/resolve/name:site@1.0', { token: null })
  assert.equal(cached.fields()['source'], 'cache')
  const ready = (await node.index.ask('GET', '/readyz', { token: null })).fields()
  assert.deepEqual(ready['registry'], { status: 'following', version: 4, entries: 17 })
  await node.stop()
})

test('a proof continues what the asker has seen, past the cache', async () => {
  const node = await startNode()
  await node.quorum.publish([named('site@1.0', 'one')], [ALICE, BOB])
  await node.registry.sleep(100)
  assert.equal(await meaning(node, 'site@1.0'), address('one'))
  assert.equal(await meaning(node, 'site@1.0', '?from=2'), address('one'))
  const answer = await node.index.ask('GET', '/resolve/name:site@1.0?from=2', { token: null })
  assert.equal(parseProof(Buffer.from(String(answer.fields()['proof']))).consistency?.from, 2)
  const plain = await node.index.ask('GET', '/resolve/name:site@1.0', { token: null })
  assert.notEqual(parseProof(Buffer.from(String(plain.fields()['proof']))).consistency?.from, 2)
  const malformed = await node.index.ask('GET', '/resolve/name:site@1.0?from=two', { token: null })
  assert.equal(malformed.status, 400)
  await node.stop()
})

test('a registry on another machine is followed with its trust file, and not without', async () => {
  const registry = await TestRegistry.start({
    ...rootsOf(1, [ALICE]),
    config: { ...rootsOf(1, [ALICE]).config, ingress: { hosts: ['node'] } },
  })
  const { world } = registry
  await new QuorumClient(registry).publish([named('site@1.0', 'one')], [ALICE])
  const bytes = (await registry.ask('GET', '/registry/trust', { token: null })).body
  const url = 'http://node:7073'
  const start = async (trusted: boolean): Promise<TestIndex> => {
    const more = trusted ? { trust_path: 'trust.json' } : {}
    const options = { config: { registry: { url, ...more } }, files: { 'trust.json': bytes } }
    return await TestIndex.start(options, world, world.machine('index'))
  }
  await assert.rejects(start(false), /registry\.url names http:\/\/node:7073; set registry\.trust_path/)
  world.machine('index').kill()
  const index = await start(true)
  await registry.sleep(500)
  const trust = parseTrust(bytes)
  assert.equal(await meaning({ index, trust }, 'site@1.0'), address('one'))
  await world.run(index.shutDown())
  await registry.stop()
})
