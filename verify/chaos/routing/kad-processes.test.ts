import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { KadProcess } from './kad-process.ts'

const HELD = addressOf(new TextEncoder().encode('an object of process A'))

test('C knows only B, finds A through B, and still finds A after B is killed; each process ends by itself', async () => {
  await using b = await KadProcess.start(2)
  await using a = await KadProcess.start(1, b.addresses)
  const holder = await a.provide(HELD)
  await using c = await KadProcess.start(3, b.addresses)
  assert.deepEqual(await c.find(HELD), [holder])
  assert.ok((await c.peers()).includes(holder), 'C has come to know A')
  await b.kill()
  assert.deepEqual(await c.find(HELD), [holder])
  assert.equal(await a.provide(HELD), holder, 'A tells again, as it does every 12 hours')
  await using d = await KadProcess.start(4, c.addresses)
  assert.deepEqual(await d.find(HELD), [holder], 'a newcomer finds A through C, B being dead')
  assert.deepEqual(await Promise.all([a.end(), c.end(), d.end()]), [0, 0, 0])
})
