/** A large object in and out at a size every run can afford; `four-gigabytes.long.ts` does the same with 4 GiB. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { hashOf, MIB, WatchedNode, writeNoise } from './memory-watch.ts'

const SIZE = 128 * MIB
const GROWTH_MAX = 64 * MIB
const WAIT_MS = 60_000

test('128 MiB stream in and out twice, and the node stays within 64 MiB of idle', async (t) => {
  if (!existsSync('/proc/self/status')) return t.skip('there is no /proc here to tell the memory of a process')
  await using node = await WatchedNode.start(WAIT_MS, { CAIRN__STORAGE__CACHE_BYTES: '16MiB' })
  const { directory } = node.place
  await writeNoise(`${directory}/in`, SIZE, 1)
  const idle = node.bytes
  const put = await node.curl('/o?stream', '-X', 'POST', '-T', 'in')
  const { address } = JSON.parse(put.data) as { address: string }
  const gets = [await node.curl(`/o/${address}`, '-o', 'out'), await node.curl(`/o/${address}`, '-o', 'out')]
  assert.equal(await hashOf(`${directory}/out`), address)
  const most = Math.max(...[put, ...gets].map(({ nodeBytes }) => nodeBytes))
  t.diagnostic(`${((most - idle) / MIB).toFixed(0)} MiB above ${(idle / MIB).toFixed(0)}`)
  assert.ok(most - idle <= GROWTH_MAX, `it grew by ${most - idle} bytes`)
})
