import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CALM } from '../virtual/network/links.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { WRITER } from './settings.ts'
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
