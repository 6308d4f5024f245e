import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { CALM } from '../virtual/network/links.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { untilReady } from './repair.ts'
import { urlOf, WRITER } from './settings.ts'
import { Town } from './town.ts'

test('a node that hears the question when its client has gone is not blamed', async () => {
  const world = new VirtualWorld(1)
  const town = new Town(world, [])
  await world.run(town.bringUp(WRITER))
  const ask = async () => await world.run(town.send(town.node(WRITER), 'storage', 'GET', '/readyz', { timeoutMs: 500 }))
  assert.notEqual((await ask()).status, 0)
  world.network.links.weather = { ...CALM, delayMsMin: 80, delayMsMax: 80, reorder: 1 }
  assert.deepEqual([(await ask()).isBroken, (await ask()).code], [true, 'timeout'])
  world.network.links.weather = CALM
  await world.run(town.bringDown(WRITER))
  await world.run(town.close())
})

test('an index names the nodes that have a copy, and none that would have to ask them', async () => {
  const world = new VirtualWorld(1)
  const town = new Town(world, [])
  await world.run(Promise.all(town.nodes.map(async ({ name }) => await town.bringUp(name))))
  await world.run(untilReady(town))
  const body = Buffer.from('on two of three')
  const id = addressOf(body)
  assert.equal((await world.run(town.send(town.node(WRITER), 'storage', 'PUT', `/o/${id}`, { body }))).status, 201)
  const holders: string[] = []
  for (const node of town.nodes) {
    const { status } = await world.run(town.send(node, 'storage', 'GET', `/copies/${id}`))
    if (status === 200) holders.push(urlOf(node.name, 'storage'))
  }
  assert.equal(holders.length, 2)
  for (const node of town.nodes) {
    const answer = await world.run(town.send(node, 'index', 'GET', `/providers/${id}`))
    const { providers } = answer.json() as { providers: readonly { readonly http: readonly string[] }[] }
    const named = providers.flatMap(({ http }) => http)
    assert.ok(named.length > 0 && named.every((url) => holders.includes(url)), `${node.name} names ${String(named)}`)
  }
  await world.run(Promise.all(town.nodes.map(async ({ name }) => await town.bringDown(name))))
  await world.run(town.close())
})
