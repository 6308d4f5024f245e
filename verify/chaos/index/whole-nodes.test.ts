import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { cidFromAddress, parseAddress } from '@cairn/wire'
import { Home } from '../../../node/test/running-node.ts'
import { Crowd } from './crowd.ts'
import { Trap, WholeNode } from './whole-nodes.ts'

/** The signed record that an index passes on, as it travels. */
async function recordAt(node: WholeNode, cid: string): Promise<string> {
  const answer = await node.fetchIndex(`/routing/v1/providers/${cidFromAddress(parseAddress(cid))}`)
  const { Providers: peers } = (await answer.json()) as { Providers: Record<string, string>[] }
  return peers[0]?.['cairn-provider'] ?? ''
}

async function announce(node: WholeNode, record: string): Promise<{ accepted: number; codes: string[] }> {
  const token = (await readFile(`${node.dataPath}/admin.token`, 'utf8')).trim()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ records: [record] })
  const answer = await node.fetchIndex('/announce', { method: 'POST', headers, body })
  const { accepted, refused } = (await answer.json()) as { accepted: number; refused: { code: string }[] }
  return { accepted, codes: refused.map(({ code }) => code) }
}

/** From one address, which may have 256 open; a few more are kept until they were told why. */
const CONNECTIONS = 2000
const TOLD_WHY_MAX = 16

test('whole nodes: found through B, still found after kill -9 of B, never fetched from a forbidden address, and not crowded out by one that connects 2000 times', async (t) => {
  await using home = await Home.make()
  await using trap = await Trap.open()
  const b = await WholeNode.start(home, 'b', {})
  const [a, c] = await Promise.all([
    WholeNode.start(home, 'a', { bootstrap: b.addresses, http: [trap.url] }),
    WholeNode.start(home, 'c', { bootstrap: b.addresses }),
  ])

  const first = await a.put('an object of A')
  const [own] = await a.providers(first)
  assert.ok(own !== undefined, 'what is put is resolvable on the same node at once')
  const before = await c.found(first)
  assert.deepEqual(
    before.providers.map(({ id, http }) => ({ id, http })),
    [{ id: own.id, http: [trap.url] }],
  )

  await b.kill()
  assert.match((await c.run('resolve', first, '--fresh')) ?? '', /source +dht/)
  const second = await a.put('another, told after B was gone')
  const after = await c.found(second)
  assert.deepEqual(
    after.providers.map(({ id }) => id),
    [own.id],
  )
  t.diagnostic(`found ${before.ms} ms after the put; ${after.ms} ms with B dead`)

  const strict = await WholeNode.start(home, 'd', {
    bootstrap: c.addresses,
    allowLoopback: false,
    endpoints: [c.index],
  })
  assert.deepEqual(await strict.providers(first), [])
  assert.ok((await strict.metric('provider_records_total{ state="forbidden_address"')) > 0)
  const record = await recordAt(c, first)
  assert.deepEqual(await announce(strict, record), { accepted: 0, codes: ['record_forbidden_address'] })
  assert.equal(trap.connections, 0, 'nobody came')
  assert.deepEqual(await announce(c, record), { accepted: 1, codes: [] })
  assert.deepEqual(trap.asked, [`HEAD /o/${first}`], 'who is allowed to dials back')

  await using crowd = await Crowd.at(c.index, '127.0.0.9', CONNECTIONS, async () => {
    assert.equal((await c.fetchIndex(`/resolve/${second}`)).status, 200, 'others are served meanwhile')
  })
  await crowd.until((open) => open <= 256 + TOLD_WHY_MAX)
  const turnedAway = await c.metric('connections_refused_total{ reason="address"')
  assert.ok(turnedAway >= CONNECTIONS - 256 - TOLD_WHY_MAX, `${turnedAway} were turned away`)
  assert.equal((await c.fetchIndex('/healthz')).status, 200)
})
