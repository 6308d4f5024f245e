/** Floods of records and of nonsense over real connections: refused, counted, and nobody else is held up. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dhtKey, encodeCbor } from '@cairn/wire'
import { HostilePeer } from '../../../packages/routing/test/hostile-peer.ts'
import { addressNamed, Peer } from '../../../packages/routing/test/peer.ts'
import { FOREVER, find, floodOfPointers, until } from './flood.ts'

test('while one peer tells of hundreds of objects, what another tells is taken and found', async () => {
  const { found, honest, told } = await floodOfPointers(0)
  assert.deepEqual(found, [honest])
  assert.ok(told > 100, `${told} told`)
})

/** An answer of this protocol: its length, and then as much as is said, or more. */
function framed(length: number, bytes: Uint8Array): Uint8Array {
  const head = Buffer.alloc(4)
  head.writeUInt32BE(length)
  return Buffer.concat([head, bytes])
}

test('who answers with a flood of records is refused for what it is, and counted', async () => {
  const middle = new Peer({ number: 220 })
  const serving = middle.kad({ transport: 'tcp' })
  const bootstrap = await serving.start(FOREVER)
  const asker = new Peer({ number: 221 })
  const asking = asker.kad({ transport: 'tcp', bootstrap })
  const other = asker.hold(addressNamed('another object')).bytes
  const list = (count: number): Uint8Array => encodeCbor(Array.from({ length: count }, () => other))
  const floods = {
    oversized: framed(1 << 30, new Uint8Array(200_000)),
    malformed: framed(list(9).length, list(9)),
    other_cid: framed(list(8).length, list(8)),
  }
  for (const [at, [state, answer]] of Object.entries(floods).entries()) {
    const cid = addressNamed(state)
    await using hostile = await HostilePeer.start(230 + at, bootstrap[0] ?? '')
    await hostile.lieAbout(dhtKey(cid).multihash.bytes, answer, FOREVER.signal)
    for (let time = 0; time < 20 && asker.metrics.refused(state) === 0; time += 1) {
      assert.deepEqual(await find(asking, asker, cid, 1), [])
    }
    assert.ok(asker.metrics.refused(state) >= (state === 'other_cid' ? 8 : 1), state)
  }
  assert.equal(asker.metrics.refused('accepted'), 0)
  await Promise.all([serving, asking].map(async (kad) => await kad.close()))
})

test('a request for records that is none is cut off and counted', async () => {
  const target = new Peer({ number: 240 })
  const serving = target.kad({ transport: 'tcp' })
  const [address = ''] = await serving.start(FOREVER)
  await using hostile = await HostilePeer.start(241, address)
  await assert.rejects(hostile.askNonsense(new Uint8Array(33), FOREVER.signal))
  const failed = (): number => target.metrics.value('provider_requests_total', { result: 'failed' })
  await until(() => failed() > 0)
  assert.equal(failed(), 1)
  await serving.close()
})
