import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Home } from '../../../node/test/running-node.ts'
import { objectsOf, putAll, readAll } from './objects.ts'
import { started } from './started.ts'

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
