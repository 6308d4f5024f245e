import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { Deadline } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import { systemCrypto } from '@cairn/platform'
import { encodeCbor } from '@cairn/wire'
import type { KadRouting } from '../../../packages/routing/src/kad-routing.ts'
import type { Provider } from '../../../packages/routing/src/provider-routing.ts'
import { signRecord } from '../../../packages/routing/src/record.ts'
import { addressNamed, fieldsOf, Peer, seedOf } from '../../../packages/routing/test/peer.ts'

const HELD = addressNamed('wanted')
const FOREVER = { signal: new AbortController().signal }

function soon(peer: Peer): number {
  return Math.floor(peer.runtime.clock.wall() / 1000) + 60
}

/** What each liar answers instead of its record. */
const LIES: Readonly<Record<string, (peer: Peer) => Uint8Array>> = {
  forged: (peer) => encodeCbor({ ...fieldsOf(peer.hold(HELD)), seq: 1 }),
  unsigned: (peer) => {
    const { sig: _sig, ...fields } = fieldsOf(peer.hold(HELD))
    return encodeCbor(fields)
  },
  expired: (peer) => {
    const claim = { cid: HELD, http: ['http://127.0.0.1:1'], seq: 1, exp: soon(peer) - 120 }
    return signRecord(systemCrypto, seedOf(peer.number), claim).bytes
  },
  oversized: () => new Uint8Array(20_000),
  other_cid: (peer) => peer.hold(addressNamed('something else')).bytes,
  forbidden_address: (peer) => {
    const claim = { cid: HELD, http: ['http://10.1.2.3:7071'], seq: 1, exp: soon(peer) }
    return signRecord(systemCrypto, seedOf(peer.number), claim).bytes
  },
}

async function find(kad: KadRouting, peer: Peer): Promise<Provider[]> {
  const found = new Map<string, Provider>()
  await kad.join(FOREVER)
  for (const leg of kad.legs(HELD, 3)) {
    const deadline = Deadline.after(peer.runtime.clock, 10_000)
    await leg.find(HELD, { ...FOREVER, deadline, onProvider: (provider) => found.set(provider.id, provider) })
  }
  return [...found.values()]
}

/** On a busy machine the first connection may take longer than the second a record may take. */
async function findAgain(kad: KadRouting, peer: Peer): Promise<Provider[]> {
  let found: Provider[] = []
  for (let time = 0; time < 20 && found.length === 0; time += 1) found = await find(kad, peer)
  return found
}

describe('over real connections', () => {
  const open: KadRouting[] = []
  const peers: Peer[] = []
  const make = (number: number, reach = { allowLoopback: true }, isFrozen = false): Peer => {
    const peer = new Peer({ number, reach, isFrozen })
    peers.push(peer)
    return peer
  }
  const run = (kad: KadRouting): KadRouting => {
    open.push(kad)
    return kad
  }
  after(async () => {
    await Promise.all(open.map(async (kad) => await kad.close()))
    for (const peer of peers) assert.deepEqual(leaks(peer.runtime), [])
  })

  test('liars are refused and counted, each for its lie, and the honest holder is found among them', async () => {
    const bootstrap = await run(make(100).kad({ transport: 'tcp' })).start(FOREVER)
    const honest = make(101)
    await run(honest.kad({ transport: 'tcp', bootstrap })).provide([honest.hold(HELD)], FOREVER)
    const liars = Object.values(LIES).map(async (lie, at) => {
      const liar = make(110 + at)
      const record = liar.hold(HELD)
      const kad = run(liar.kad({ transport: 'tcp', bootstrap, records: () => [{ bytes: lie(liar) }] }))
      await kad.provide([record], FOREVER)
    })
    await Promise.all(liars)
    const asker = make(102)
    const found = await findAgain(run(asker.kad({ transport: 'tcp', bootstrap })), asker)
    assert.deepEqual(
      found.map(({ id }) => id),
      [honest.signer.publisher],
    )
    for (const state of Object.keys(LIES)) assert.ok(asker.metrics.refused(state) > 0, `${state} is counted`)
  })

  test('a pointer at an address that is not public is never dialled, unless that address was configured', async () => {
    const bootstrap = await run(make(120).kad({ transport: 'tcp' })).start(FOREVER)
    const inside = make(121)
    const holder = run(inside.kad({ transport: 'tcp', bootstrap }))
    await holder.provide([inside.hold(HELD)], FOREVER)
    const strict = make(122, { allowLoopback: false })
    assert.deepEqual(await find(run(strict.kad({ transport: 'tcp', bootstrap })), strict), [])
    assert.ok(strict.metrics.refused('forbidden_address') > 0)
    assert.equal(strict.metrics.refused('accepted'), 0)
  })

  test('who floods with questions is refused and counted, and others are answered meanwhile', async () => {
    const bootstrap = await run(make(130).kad({ transport: 'tcp' })).start(FOREVER)
    const holder = make(131, { allowLoopback: true }, true)
    await run(holder.kad({ transport: 'tcp', bootstrap })).provide([holder.hold(HELD)], FOREVER)
    const [flooder, honest] = [make(132), make(133)]
    const flooding = run(flooder.kad({ transport: 'tcp', bootstrap }))
    const asking = run(honest.kad({ transport: 'tcp', bootstrap }))
    const requests = (result: string): number => holder.metrics.value('provider_requests_total', { result })
    assert.equal((await findAgain(flooding, flooder)).length, 1)
    for (let asked = 0; asked < 400 && requests('rate_limited') < 20; asked += 8) {
      await Promise.all(Array.from({ length: 8 }, async () => await find(flooding, flooder)))
    }
    assert.ok(requests('rate_limited') >= 20, 'the flood is refused')
    assert.ok(requests('found') <= 100, 'after its burst')
    assert.deepEqual(
      (await findAgain(asking, honest)).map(({ id }) => id),
      [holder.signer.publisher],
    )
  })
})
