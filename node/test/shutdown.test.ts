import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { SystemClock } from '@cairn/kernel'
import { ask, bearer } from './asking.ts'
import { BODY, heldRequest, holdRequest, isDraining } from './held-request.ts'
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

const SECRET = 'a secret that only the test knows'
const WITH_GITHUB = `[interop.providers.github]
enabled = true
secrets = [{ env = "GITHUB_SECRET" }]
`

test('services in front are served by those behind them until they are done', async () => {
  await using home = await Home.make()
  await writeFile(`${home.path}/cairn.toml`, WITH_GITHUB)
  const args = ['--port-base', '0', '--config', 'cairn.toml']
  // The requests are held longer than storage may drain; all else has the time of a busy machine.
  const deadlines = { CAIRN__STORAGE__DRAIN_DEADLINE: '1s', CAIRN__INTEROP__DRAIN_DEADLINE: '5s' }
  const environment = { GITHUB_SECRET: SECRET, ...deadlines, CAIRN__INTEROP__INGRESS__REQUEST_TIMEOUT: '30s' }
  const node = home.start({ args, environment })
  const { urls } = await node.ready()
  const [interop, storage] = [urls['interop']![0]!, urls['storage']![0]!]
  const hook = JSON.stringify({ zen: 'Finish what you start.' })
  const put = JSON.stringify({ payload: Buffer.from('accepted before the signal').toString('base64') })
  const webhook = await holdRequest(interop, '/webhooks/github', {
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'ping',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(hook).digest('hex')}`,
    },
    body: hook,
  })
  const json = { ...(await bearer(home.path)), 'content-type': 'application/json' }
  const putting = await holdRequest(interop, '/put', { headers: json, body: put })
  node.signal('SIGTERM')
  for (const url of [interop, storage]) await isDraining(url)
  // The storage refuses clients, and has waited longer than its own deadline when the services in front need it.
  assert.equal((await ask(storage, '/o', { method: 'POST', headers: json, body: 'x' })).status, 503)
  const clock = new SystemClock()
  const drainingAt = clock.now()
  while (clock.now() < drainingAt + 1200) await isDraining(storage)
  webhook.request.end(hook.slice(10))
  putting.request.end(put.slice(10))
  assert.deepEqual([(await webhook.answer).status, (await putting.answer).status], [202, 202])
  assert.deepEqual(await node.ended, { code: 0, signal: null })
  assert.deepEqual((await node.logged('stopped'))['aborted'], [])
})

test('the ports stay open for the lame duck, and a second signal ends it', async () => {
  await using home = await Home.make()
  const node = home.start({ args: ['--port-base', '0'], environment: { CAIRN__INDEX__LAME_DUCK: '60s' } })
  const url = (await node.ready()).urls['index']![0]!
  node.signal('SIGTERM')
  await isDraining(url)
  const refused = await ask(url, '/facets/search?q=x')
  assert.deepEqual([refused.status, refused.headers.connection], [503, 'close'])
  assert.equal((await ask(url, '/healthz')).status, 200)
  node.signal('SIGTERM')
  assert.deepEqual(await node.ended, { code: 130, signal: null })
})

test('a second signal ends what is under way, and the exit code says so', async () => {
  await using home = await Home.make()
  const { node, url, answer } = await heldRequest(home)
  node.signal('SIGINT')
  await isDraining(url)
  node.signal('SIGINT')
  assert.equal((await answer).status, 503)
  // At the deadline it would be another code.
  assert.deepEqual(await node.ended, { code: 130, signal: null })
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
