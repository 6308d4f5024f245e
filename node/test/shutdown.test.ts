import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SystemClock } from '@cairn/kernel'
import { ask, bearer } from './asking.ts'
import { BODY, heldRequest, isDraining } from './held-request.ts'
import { Home } from './running-node.ts'

test('a stop lets an accepted request finish, refuses new ones, and answers probes until the end', async () => {
  await using home = await Home.make()
  const { node, url, request, answer } = await heldRequest(home)
  node.signal('SIGTERM')
  await isDraining(url)
  assert.equal((await ask(url, '/healthz')).status, 200)
  const late = await ask(url, '/admin/status', { headers: await bearer(home.path) })
  assert.equal(late.status, 503)
  assert.equal(late.headers.connection, 'close')
  assert.ok(late.headers['retry-after'])
  request.end(BODY.slice(10))
  assert.equal((await answer).status, 201)
  assert.deepEqual(await node.ended, { code: 0, signal: null })
  assert.deepEqual((await node.logged('stopped'))['aborted'], [])
})

test('a second signal ends what is under way, and the exit code says so', async () => {
  await using home = await Home.make()
  const { node, url, answer } = await heldRequest(home, { environment: { CAIRN__NODE__DRAIN_DEADLINE: '5s' } })
  node.signal('SIGINT')
  await isDraining(url)
  const clock = new SystemClock()
  const askedAt = clock.now()
  node.signal('SIGINT')
  assert.equal((await answer).status, 503)
  assert.deepEqual(await node.ended, { code: 130, signal: null })
  assert.ok(clock.now() - askedAt < 4000, 'it waited for the deadline')
})

test('what does not end by the deadline is answered, counted and left', async () => {
  await using home = await Home.make()
  const { node, answer } = await heldRequest(home, { environment: { CAIRN__NODE__DRAIN_DEADLINE: '1s' } })
  node.signal('SIGTERM')
  const { status, body } = await answer
  assert.equal(status, 503, body)
  assert.deepEqual(await node.ended, { code: 0, signal: null })
  assert.notDeepEqual((await node.logged('stopped'))['aborted'], [])
})
