import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { CALM } from '../virtual/network/links.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { Cluster } from './cluster.ts'
import { untilReady } from './repair.ts'
import { urlOf, WRITER } from './settings.ts'

test('a node that hears the question when its client has gone is not blamed', async () => {
  const world = new VirtualWorld(1)
  const cluster = new Cluster(world, [])
  await world.run(cluster.bringUp(WRITER))
  const ask = async () =>
    await world.run(cluster.send(cluster.node(WRITER), 'storage', 'GET', '/readyz', { timeoutMs: 500 }))
  assert.notEqual((await ask()).status, 0)
  world.network.links.conditions = { ...CALM, delayMsMin: 80, delayMsMax: 80, reorder: 1 }
  assert.deepEqual([(await ask()).isBroken, (await ask()).code], [true, 'timeout'])
  world.network.links.conditions = CALM
  await world.run(cluster.bringDown(WRITER))
  await world.run(cluster.close())
})

test('an index names the nodes that have a copy, and none that would have to ask them', async () => {
  const world = new VirtualWorld(1)
  const cluster = new Cluster(world, [])
  await world.run(Promise.all(cluster.nodes.map(async ({ name }) => await cluster.bringUp(name))))
  await world.run(untilReady(cluster))
  const body = Buffer.from('on two of three')
  const id = addressOf(body)
  assert.equal(
    (await world.run(cluster.send(cluster.node(WRITER), 'storage', 'PUT', `/o/${id}`, { body }))).status,
    201,
  )
  const holders: string[] = []
  for (const node of cluster.nodes) {
    const { status } = await world.run(cluster.send(node, 'storage', 'GET', `/copies/${id}`))
    if (status === 200) holders.push(urlOf(node.name, 'storage'))
  }
  assert.equal(holders.length, 2)
  for (const node of cluster.nodes) {
    const answer = await world.run(cluster.send(node, 'index', 'GET', `/providers/${id}`))
    const { providers } = answer.json() as { providers: readonly { readonly http: readonly string[] }[] }
    const named = providers.flatMap(({ http }) => http)
    assert.ok(named.length > 0 && named.every((url) => holders.includes(url)), `${node.name} names ${String(named)}`)
  }
  await world.run(Promise.all(cluster.nodes.map(async ({ name }) => await cluster.bringDown(name))))
  await world.run(cluster.close())
})
