/** Three indexes that have each other as endpoints: none of them waits for one that waits for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { TestStorage } from './dependencies.ts'
import { TestService } from './harness.ts'
import { seedOf } from './network.ts'

const NAMES = ['oak', 'elm', 'ash']
const HELD = addressOf(Buffer.from('held by the last'))
const NOWHERE = addressOf(Buffer.from('held by nobody'))
/** A request and its answer, and what the asked index takes: nobody waited for a deadline. */
const SOON_MS = 50

test('indexes that ask each other find what one of them holds, and say at once that nobody holds a thing', async () => {
  const world = new VirtualWorld(1)
  const storage = new TestStorage()
  const indexes: TestService[] = []
  for (const [at, name] of NAMES.entries()) {
    const endpoints = NAMES.filter((other) => other !== name).map((other) => `http://${other}:7072`)
    const config = { ingress: { hosts: [name] }, dht: { endpoints } }
    const holds = name === NAMES.at(-1) ? { storage: storage.client } : {}
    const options = { config, identitySeed: seedOf(at + 1), routings: undefined, ...holds }
    indexes.push(await TestService.start(options, world, world.machine(name)))
  }
  storage.ingest(HELD)
  const ask = async (index: TestService, cid: string): Promise<number> => {
    const startedAt = world.clock.now()
    const { status } = await index.send('GET', `/resolve/${cid}?fresh=true`)
    assert.ok(world.clock.now() - startedAt <= SOON_MS, `${world.clock.now() - startedAt} ms`)
    return status
  }
  const [found, nowhere] = await world.run(
    Promise.all(
      [HELD, NOWHERE].map(async (cid) => await Promise.all(indexes.map(async (each) => await ask(each, cid)))),
    ),
  )
  assert.deepEqual(found, [200, 200, 200])
  assert.deepEqual(nowhere, [404, 404, 404])
  for (const index of indexes) await world.run(index.shutDown())
  assert.deepEqual(world.leaks(), [])
})

test('where nobody is to be told, nothing is looked up and signed for telling', async () => {
  const world = new VirtualWorld(1)
  const storage = new TestStorage()
  const config = { dht: { endpoints: ['http://elm:7072'] }, announce: { http: ['https://self.example.org'] } }
  const index = await TestService.start({ config, storage: storage.client, routings: undefined }, world)
  storage.ingest(HELD)
  await world.run(world.sleep(2000))
  assert.deepEqual([storage.listed, index.parts.announcer.size], [0, 0])
  assert.equal((await world.run(index.send('GET', `/resolve/${HELD}`))).status, 200)
  await world.run(index.shutDown())
  assert.deepEqual(world.leaks(), [])
})
