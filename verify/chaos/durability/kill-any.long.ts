import { test } from 'node:test'
import { Home } from '../../../node/test/running-node.ts'
import { objectsOf, putAll, readAll } from './objects.ts'
import { started, whole } from './started.ts'

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
