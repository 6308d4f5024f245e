import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Home } from '../../../node/test/running-node.ts'
import { cluster, freePorts, isWhole, type Member, until } from './cluster.ts'
import { objectsOf, putAll, readAll } from './objects.ts'

async function started(home: Home, names: readonly string[]): Promise<Member[]> {
  const ports = await freePorts(names.length)
  const members = cluster(home, Object.fromEntries(names.map((name, at) => [name, `127.0.0.1:${ports[at]}`])))
  for (const member of members) await member.start()
  for (const member of members) await whole(member)
  return members
}

async function whole(member: Member): Promise<void> {
  await until(`${member.name} is whole`, async () => await member.report(), isWhole)
}

test('two nodes: what was put on one is read from either after the other was killed', async () => {
  await using home = await Home.make()
  const members = await started(home, ['a', 'b'])
  const [first, second] = members
  assert.ok(first !== undefined && second !== undefined)
  const objects = objectsOf(8, 1)
  await putAll(first, objects)
  await second.kill()
  await readAll([first], objects)
  await second.start()
  await first.kill()
  await readAll([second], objects)
})

test('three nodes: any one is killed, everything is read from the others, and it comes back to what it missed', async () => {
  await using home = await Home.make()
  const members = await started(home, ['a', 'b', 'c'])
  const objects = objectsOf(8, 2)
  await putAll(members[0]!, objects)
  for (const victim of members) {
    const others = members.filter((each) => each !== victim)
    await victim.kill()
    await readAll(others, objects)
    const late = objectsOf(2, 10 + members.indexOf(victim))
    await putAll(others[0]!, late)
    objects.push(...late)
    await victim.start()
    for (const member of members) await whole(member)
    await readAll([victim], objects)
  }
})
