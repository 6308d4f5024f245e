/** What the node says of what it cannot reach, keep or verify. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { acceptance } from '../case.ts'
import { json, sendWebhook } from '../operations.ts'

acceptance(
  'outside: a connect without an answer counts as one',
  { finding: 'seed-coverage 14', limitMs: 30_000 },
  async (world) => {
    // Takes connections and never answers the greeting of TLS.
    const silent = createServer((socket) => {
      socket.on('error', () => {}).resume()
    })
    await once(silent.listen(0, '127.0.0.1'), 'listening')
    world.own({
      [Symbol.asyncDispose]: async () => {
        await new Promise((resolve) => {
          silent.close(resolve)
        })
      },
    })
    const { port } = silent.address() as { port: number }
    const config = `[edge]\nmode = "live"\nallow = ["127.0.0.1:${port}"]\ndev_allow_loopback_http = true\n\n[edge.routes]\nup = "https://127.0.0.1:${port}/"\n`
    const node = await world.startNode({ config })
    const { status } = await node.request('edge', '/edge/assets/u/up/a')
    assert.ok(status === 502 || status === 504, String(status))
    await world.eventually(async () =>
      (await node.metric('edge', 'io_timeouts_total', 'op="connect"')) > 0 ? true : undefined,
    )
  },
)

const GITHUB = '[interop.providers.github]\nenabled = true\nsecrets = [{ env = "HOOK_SECRET" }]\n'

acceptance('outside: amnesia says that it writes no audit file', { finding: 'seed-coverage 26' }, async (world) => {
  const config = `[interop.audit]\nsink = "file"\n${GITHUB}`
  const node = await world.startNode({ config, args: ['--amnesia'], env: { HOOK_SECRET: 'a secret of the sender' } })
  const hook = { secret: 'a secret of the sender', event: 'push', delivery: 'd-1', body: '{}' }
  assert.equal((await sendWebhook(node, hook)).status, 202)
  const said = await world.eventually(async () => {
    const counted = await node.metric('interop', 'audit_emitted_total', 'sink="file"')
    return counted > 0 ? 'counted' : /audit lines go to no file/.exec(node.output())?.[0]
  })
  assert.equal(said, 'audit lines go to no file')
})

acceptance('outside: a wrong signature is not told of capabilities', { finding: 'judges 5' }, async (world) => {
  const node = await world.startNode({ config: GITHUB, env: { HOOK_SECRET: 'a secret of the sender' } })
  const answer = await sendWebhook(node, { secret: 'another', event: 'push', delivery: 'd-1', body: '{}' })
  const { title, detail } = json(answer) as { title: string; detail: string }
  assert.deepEqual([answer.status, detail], [401, 'The signature does not match the body.'])
  assert.match(title, /signature/)
})

acceptance('outside: headers named by Svix are taken', { finding: 'judges 5' }, async (world) => {
  const key = Buffer.alloc(32, 7)
  const config = '[interop.providers.standard]\nenabled = true\nsecrets = [{ env = "HOOK_SECRET" }]\n'
  const node = await world.startNode({ config, env: { HOOK_SECRET: `whsec_${key.toString('base64')}` } })
  const send = async (family: string, id: string, signedId = id) => {
    const time = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', key).update(`${signedId}.${time}.{}`).digest('base64')
    const named = { [`${family}-id`]: id, [`${family}-timestamp`]: time, [`${family}-signature`]: `v1,${signature}` }
    const headers = { 'content-type': 'application/json', ...named }
    return await node.request('interop', '/webhooks/standard', { method: 'POST', headers, body: '{}' })
  }
  assert.equal((await send('webhook', 'm-1')).status, 202)
  assert.equal((await send('svix', 'm-2')).status, 202)
  assert.equal((await send('svix', 'm-3', 'm-4')).status, 401)
})

acceptance('outside: an item without an id has no empty one', { finding: 'judges 2' }, async (world) => {
  const node = await world.startNode()
  const body = JSON.stringify({ payload: { items: [{ kind: 'name', prev: null, owner: 'me' }] } })
  const headers = { 'content-type': 'application/json' }
  const answer = await node.request('registry', '/registry/proposals', { method: 'POST', admin: true, headers, body })
  const { detail } = json(answer) as { detail: string }
  assert.equal(answer.status, 400)
  assert.doesNotMatch(detail, / {2}/)
  assert.match(detail, /"owner"|"id"/)
})
