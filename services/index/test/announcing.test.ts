/** One index that tells another what its storage holds, over the virtual network. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { tokenFor } from './harness.ts'
import { startPair } from './pair.ts'

const CID = addressOf(Buffer.from('an object'))
const OTHER = addressOf(Buffer.from('another object'))

test('what storage takes in is resolvable at another index at once, which has asked for it first', async () => {
  const { world, teller, taker, storage, asked, stop } = await startPair(() => 200)
  storage.ingest(CID)
  storage.ingest(OTHER)
  await world.run(world.sleep(1000))
  const answer = await taker.ask('GET', `/providers/${CID}`, { token: null })
  const { providers } = answer.json() as { providers: { id: string; http: string[] }[] }
  assert.deepEqual(
    providers.map(({ id, http }) => [id, http]),
    [[teller.parts.publisher, ['https://self.example.org']]],
  )
  assert.deepEqual(asked, [`HEAD https://self.example.org/o/${CID}`, `HEAD https://self.example.org/o/${OTHER}`])
  assert.equal(teller.metric('provider_announce_total', { result: 'accepted' }), 2)
  assert.equal(taker.metric('announce_records_total', { result: 'accepted' }), 2)
  await stop()
})

test('whoever cannot be reached is not taken, and is told again when it can', async () => {
  let status = 404
  const { world, teller, taker, storage, asked, stop } = await startPair(() => status)
  storage.ingest(CID)
  await world.run(world.sleep(1000))
  assert.equal((await taker.ask('GET', `/resolve/${CID}`, { token: null })).status, 404)
  assert.equal(teller.metric('provider_announce_total', { result: 'refused' }), 1)
  status = 200
  await world.run(world.sleep(301_000))
  assert.equal((await taker.ask('GET', `/resolve/${CID}`, { token: null })).status, 200)
  assert.equal(asked.length, 2)
  await stop()
})

test('a token that does not allow it stops nobody but the announcements', async () => {
  const { world, teller, taker, storage, asked, stop } = await startPair(() => 200, tokenFor(['index:read']))
  storage.ingest(CID)
  await world.run(world.sleep(5000))
  assert.equal(teller.metric('provider_announce_total', { result: 'failed' }), 1)
  assert.equal((await teller.ask('GET', `/resolve/${CID}`, { token: null })).status, 200)
  assert.equal((await taker.ask('GET', `/resolve/${CID}`, { token: null })).status, 404)
  assert.deepEqual(asked, [])
  await stop()
})
