/** The index as it is shipped, asking endpoints that know, know nothing, or say nothing. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { addressOf, cidFromAddress } from '@cairn/wire'
import { acceptance } from '../case.ts'
import { TestServer } from '../servers.ts'
import type { World } from '../world.ts'

/** Delegated Routing as anyone may serve it; peers without a signed record are shown because the node is told to. */
const PEER = { Schema: 'peer', ID: '12D3KooWEndpoint1', Addrs: ['/ip4/127.0.0.1/tcp/4001/http'], Protocols: [] }

type Does = 'knows' | 'nothing' | 'hangs'

interface Endpoints {
  readonly config: string
  /** How often each was asked. */
  readonly asked: number[]
}

async function endpoints(world: World, does: readonly Does[]): Promise<Endpoints> {
  const asked = does.map(() => 0)
  const answer = (response: ServerResponse, deed: Does): void => {
    if (deed === 'hangs') return
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ Providers: deed === 'knows' ? [PEER] : [] }))
  }
  const urls = await Promise.all(
    does.map(async (deed, at) => {
      const server = await TestServer.start((_request, response) => {
        asked[at] = (asked[at] ?? 0) + 1
        answer(response, deed)
      })
      return world.own(server).url
    }),
  )
  const config = `[index.dht]\naccept_unsigned = true\nallow_loopback = true\nendpoints = ${JSON.stringify(urls)}\n`
  return { config, asked }
}

const cidOf = (text: string | number): string => addressOf(Buffer.from(`an object ${text}`))

acceptance('index: what only the fifth endpoint knows is found', { finding: 'seed-coverage 6.4' }, async (world) => {
  const { config, asked } = await endpoints(world, ['nothing', 'nothing', 'nothing', 'nothing', 'knows'])
  const node = await world.startNode({ config })
  for (let at = 0; at < 10; at += 1) {
    const { status, body } = await node.request('index', `/providers/${cidOf(at)}`)
    assert.equal(status, 200, body.toString())
  }
  assert.ok(
    asked.every((count) => count > 0),
    asked.join(' '),
  )
})

acceptance(
  'index: while one endpoint is silent it is not said that there is no provider',
  { finding: 'seed-coverage 6.4' },
  async (world) => {
    const { config } = await endpoints(world, ['hangs', 'nothing', 'nothing', 'nothing', 'nothing'])
    const node = await world.startNode({ config })
    for (let at = 0; at < 3; at += 1) assert.equal((await node.request('index', `/providers/${cidOf(at)}`)).status, 504)
  },
)

acceptance('index: of twelve endpoints every one is asked', { finding: 'seed-coverage 6.4' }, async (world) => {
  const { config, asked } = await endpoints(
    world,
    Array.from({ length: 12 }, () => 'nothing'),
  )
  const node = await world.startNode({ config })
  for (let at = 0; at < 12; at += 1) assert.equal((await node.request('index', `/providers/${cidOf(at)}`)).status, 404)
  assert.ok(
    asked.every((count) => count > 0),
    asked.join(' '),
  )
})

acceptance(
  'index: an endpoint that only hangs while others answer is left alone after a while',
  { finding: 'seed-coverage 6.25' },
  async (world) => {
    const { config, asked } = await endpoints(world, ['hangs', 'knows', 'knows'])
    const node = await world.startNode({ config })
    for (let at = 0; at < 40; at += 1)
      assert.equal((await node.request('index', `/providers/${cidOf(at)}`)).status, 200)
    assert.ok((asked[0] ?? 0) < 30, `it was asked ${String(asked[0])} times`)
  },
)

acceptance('index: a CID of another hash is an empty answer', { finding: 'judges 3' }, async (world) => {
  const node = await world.startNode()
  for (const cid of [
    'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG',
    'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi',
  ]) {
    const { status, body } = await node.request('index', `/routing/v1/providers/${cid}`)
    assert.equal(status, 200, body.toString())
    assert.deepEqual(JSON.parse(body.toString()), { Providers: [] })
  }
})

acceptance(
  'index: a record names only protocols spoken at its address, and filters hold',
  { finding: 'judges 3' },
  async (world) => {
    const node = await world.startNode({ config: '[index.dht]\nallow_loopback = true\n' })
    const address = await node.put('an object that others may find')
    const ask = async (query: string): Promise<readonly { readonly Protocols: readonly string[] }[]> => {
      const { status, body } = await node.request(
        'index',
        `/routing/v1/providers/${cidFromAddress(address as `b3:${string}`)}${query}`,
      )
      assert.equal(status, 200, body.toString())
      return (JSON.parse(body.toString()) as { Providers: { Protocols: string[] }[] }).Providers
    }
    const [peer] = await ask('')
    assert.deepEqual(peer?.Protocols, ['cairn-provider'])
    assert.deepEqual(await ask('?filter-protocols=transport-bitswap,unknown'), [])
    assert.equal((await ask('?filter-protocols=cairn-provider')).length, 1)
  },
)
