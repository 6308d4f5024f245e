/** Delegated Routing v1, as clients that ask about CIDs of every kind meet it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, cidFromAddress } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { TestService } from './harness.ts'
import { signedProvider, TestNetwork } from './network.ts'

const WALL = 1_700_000_000_000
const CID = addressOf(Buffer.from('an object'))
const ROUTE = '/routing/v1/providers'

const found = (): TestNetwork =>
  new TestNetwork([{ does: 'find', afterMs: 1, providers: (cid) => [signedProvider(2, cid, WALL)] }])

test('a CID of another hash, codec or version is an empty answer in either form, and nobody is asked', async () => {
  const network = found()
  const service = await TestService.start({ network })
  for (const cid of [
    'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG',
    'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi',
    'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy',
  ]) {
    const answer = await service.ask('GET', `${ROUTE}/${cid}`, { token: null })
    assert.equal(answer.status, 200, answer.body.toString())
    assert.deepEqual(answer.json(), { Providers: [] })
    assert.equal(answer.headers['vary'], 'Accept')
    const lines = await service.ask('GET', `${ROUTE}/${cid}`, { headers: { accept: 'application/x-ndjson' } })
    assert.deepEqual([lines.status, lines.body.toString()], [200, ''])
    assert.equal(lines.headers['content-type'], 'application/x-ndjson')
  }
  assert.equal(network.asked.length, 0)
  await service.stop()
})

test('what is no CID at all is 400', async () => {
  const service = await TestService.start({ network: found() })
  for (const text of ['hello', CID, 'bafkr4i'])
    isProblem(await service.ask('GET', `${ROUTE}/${text}`), 400, 'bad_request')
  await service.stop()
})

test('a record names the one protocol that is spoken at its address, and filters hold', async () => {
  const service = await TestService.start({ network: found() })
  const target = `${ROUTE}/${cidFromAddress(CID)}`
  const ask = async (query: string): Promise<readonly Record<string, unknown>[]> => {
    const { Providers: peers } = (await service.ask('GET', `${target}${query}`)).json() as {
      Providers: Record<string, unknown>[]
    }
    return peers
  }
  const [peer] = await ask('')
  assert.deepEqual(peer?.['Protocols'], ['cairn-provider'])
  assert.equal((await ask('?filter-protocols=cairn-provider')).length, 1)
  assert.deepEqual(await ask('?filter-protocols=transport-bitswap,unknown'), [])
  assert.equal((await ask('?filter-addrs=https')).length, 1)
  assert.deepEqual(await ask('?filter-addrs=!https'), [])
  await service.stop()
})
