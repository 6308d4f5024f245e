/** 4 GiB in and out, streamed and through the command line: the right bytes, and nobody grows with them. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { hashOf, MIB, type Watched, WatchedNode, writeNoise } from './memory-watch.ts'

const SIZE = 4096 * MIB
const GROWTH_MAX = 64 * MIB
/** Longer than any process of the shorter tests may take. */
const WAIT_MS = 3_600_000

let node: WatchedNode
let idle = 0
before(async () => {
  node = await WatchedNode.start(WAIT_MS)
  await writeNoise(`${node.place.directory}/small`, MIB, 3)
  idle = node.bytes
})
after(async () => await node[Symbol.asyncDispose]())

/** Prints how it went; what the node grew by. */
function report(t: TestContext, what: string, { nodeBytes, ownBytes, seconds }: Watched): number {
  const rate = (SIZE / 1e6 / seconds).toFixed(0)
  const [grown, own] = [nodeBytes - idle, ownBytes].map((bytes) => (bytes / MIB).toFixed(0))
  t.diagnostic(`${what}: ${seconds.toFixed(0)} s, ${rate} MB/s, node ${grown} MiB above idle, client ${own} MiB`)
  return nodeBytes - idle
}

test('streamed, 4 GiB go in and out with the right hash, and the node stays within 64 MiB of idle', async (t) => {
  const { directory } = node.place
  await writeNoise(`${directory}/in`, SIZE, 1)
  const put = await node.curl('/o?stream', '-X', 'POST', '-T', 'in')
  const putGrowth = report(t, 'put', put)
  const { address } = JSON.parse(put.data) as { address: string }
  assert.equal(address, await hashOf(`${directory}/in`))
  const get = await node.curl(`/o/${address}`, '-o', 'out')
  const getGrowth = report(t, 'get', get)
  assert.equal(await hashOf(`${directory}/out`), address)
  t.diagnostic(`idle: ${(idle / MIB).toFixed(0)} MiB`)
  assert.ok(putGrowth <= GROWTH_MAX, 'the node grew while it was put')
  assert.ok(getGrowth <= GROWTH_MAX, 'the node grew while it was got')
})

test('through the command line the same, and the command stays within 64 MiB of what it takes for 1 MiB', async (t) => {
  const { directory } = node.place
  const small = await node.cairn('put', '-q', 'small')
  const smallGet = await node.cairn('get', small.data.trim(), '-o', 'small-out')
  await writeNoise(`${directory}/in`, SIZE, 2)
  const put = await node.cairn('put', '-q', 'in')
  const putGrowth = report(t, 'put', put)
  const address = put.data.trim()
  assert.equal(address, await hashOf(`${directory}/in`))
  const get = await node.cairn('get', address, '-o', 'out', '--force')
  const getGrowth = report(t, 'get', get)
  assert.match(get.words, /every byte verified: 4\.3 GB/)
  assert.equal(await hashOf(`${directory}/out`), address)
  assert.ok(putGrowth <= GROWTH_MAX, 'the node grew while it was put')
  assert.ok(getGrowth <= GROWTH_MAX, 'the node grew while it was got')
  assert.ok(put.ownBytes - small.ownBytes <= GROWTH_MAX, 'the command grew while it put')
  assert.ok(get.ownBytes - smallGet.ownBytes <= GROWTH_MAX, 'the command grew while it got')
})
