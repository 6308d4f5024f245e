/** What everything else stands on: a node starts, takes and gives, stops, and has it all again. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { bytesOf } from '../bytes.ts'
import { acceptance } from '../case.ts'
import { StartFailed } from '../node.ts'

acceptance('basics: a node starts at its defaults, and every service is ready', {}, async (world) => {
  const node = await world.startNode()
  for (const service of ['node', 'storage', 'index', 'registry', 'edge', 'interop'] as const) {
    const { status, body } = await node.request(service, '/readyz')
    assert.equal(status, 200, `${service}: ${body.toString()}`)
  }
})

acceptance('basics: what was put over HTTP is there after a stop and a start', {}, async (world) => {
  const node = await world.startNode()
  const contents = [1, 1000, 300_000].map((size) => bytesOf(size))
  const addresses: string[] = []
  for (const bytes of contents) addresses.push(await node.put(bytes))
  assert.deepEqual(await node.stop(), { code: 0, signal: null })
  await node.relaunch()
  await node.ready()
  for (const [at, address] of addresses.entries()) {
    const { status, body } = await node.request('storage', `/o/${address}`)
    assert.equal(status, 200)
    assert.ok(contents[at]?.equals(body))
  }
})

acceptance('basics: the command line puts and gets a directory', {}, async (world) => {
  const node = await world.startNode()
  await world.write('site/index.html', '<!doctype html>')
  await world.write('site/css/style.css', 'a {}')
  const put = await node.cairn('put', '-q', world.path('site'))
  assert.equal(put.code, 0, put.err)
  const get = await node.cairn('get', '-q', put.out.trim(), '-o', world.path('copy'))
  assert.equal(get.code, 0, get.err)
  assert.deepEqual((await readdir(world.path('copy'), { recursive: true })).sort(), [
    'css',
    'css/style.css',
    'index.html',
  ])
})

acceptance('basics: what was acknowledged before SIGKILL is there after it', {}, async (world) => {
  const node = await world.startNode()
  const bytes = bytesOf(100_000)
  const address = await node.put(bytes)
  assert.equal((await node.kill()).signal, 'SIGKILL')
  await node.relaunch()
  await node.ready()
  assert.ok(bytes.equals((await node.request('storage', `/o/${address}`)).body))
})

acceptance('basics: a second node on the same directory is refused, and the first goes on', {}, async (world) => {
  const first = await world.startNode()
  const second = await world.launchNode({ data: first.data })
  const refusal: unknown = await second.ready().catch((error: unknown) => error)
  assert.ok(refusal instanceof StartFailed)
  assert.equal(refusal.ended.signal, null)
  assert.notEqual(refusal.ended.code, 0)
  assert.match(refusal.output, /another|in use|running/i)
  await first.put('goes on')
})
