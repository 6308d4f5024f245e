import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { Home } from '../../../node/test/running-node.ts'
import { cluster, isWhole, until } from './cluster.ts'
import { Switchboard, switchboardObstacle } from './namespaces.ts'
import { objectsOf, putAll, readAll } from './objects.ts'

test('three nodes, one cut off: the others go on, it refuses what it cannot promise, and afterwards all agree', async (t) => {
  const obstacle = switchboardObstacle()
  if (obstacle !== undefined) {
    t.skip(obstacle)
    return
  }
  const names = ['a', 'b', 'c']
  using network = new Switchboard(names)
  await using home = await Home.make()
  const addresses = Object.fromEntries(names.map((name) => [name, `${network.addressOf(name)}:7071`]))
  const members = cluster(home, addresses, (name) => ({ under: network.inside(name) }))
  const [a, b, c] = members
  assert.ok(a !== undefined && b !== undefined && c !== undefined)
  await Promise.all(members.map(async (member) => await member.start()))
  for (const member of members) await until(`${member.name} is whole`, async () => await member.report(), isWhole)
  const [kept, deleted] = [objectsOf(4, 1), objectsOf(4, 2)]
  await putAll(a, [...kept, ...deleted])
  network.pull('c')
  const away = objectsOf(3, 3)
  for (const bytes of away)
    await until(
      'a write',
      async () => (await a.ask('PUT', `/o/${addressOf(bytes)}?stream`, bytes)).status,
      (status) => status < 300,
    )
  for (const bytes of deleted) assert.equal((await b.ask('DELETE', `/o/${addressOf(bytes)}`)).status, 204)
  await readAll([a, b], [...kept, ...away])
  const refused = await c.ask('POST', '/o', Buffer.from('alone'))
  assert.equal(refused.status, 503, refused.body.toString())
  network.plugIn('c')
  for (const member of members) await until(`${member.name} is whole`, async () => await member.report(), isWhole)
  await readAll(members, [...kept, ...away])
  for (const member of members)
    for (const bytes of deleted)
      await until(
        'it stays deleted',
        async () => (await member.ask('GET', `/o/${addressOf(bytes)}`)).status,
        (status) => status === 404,
      )
})
