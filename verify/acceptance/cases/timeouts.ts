/** Time that runs out: whose it was decides the answer. */
import assert from 'node:assert/strict'
import { chmod } from 'node:fs/promises'
import { Agent, request as httpRequest, type RequestListener } from 'node:http'
import { acceptance } from '../case.ts'
import { TestServer } from '../servers.ts'

acceptance(
  'timeouts: a body that stops is the fault of its client: 408, counted once',
  { finding: 'seed-coverage 11' },
  async (world) => {
    const node = await world.startNode()
    const token = await node.adminToken()
    const head = `POST /o HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 100\r\n`
    const stalled = await world.socket(node.urls.storage)
    stalled.write(`${head}\r\nthe beginning`)
    assert.match(await stalled.untilOver(), /^HTTP\/1\.1 408 /)
    assert.match(stalled.received, /"slow_body"/)
    assert.equal(await node.metric('storage', 'io_timeouts_total', 'op="read"'), 1)
    assert.equal(await node.metric('storage', 'io_timeouts_total', 'op="request"'), 0)
    // A budget of the client's own is its own business.
    const hurried = await world.socket(node.urls.storage)
    hurried.write(`${head}Request-Timeout: 300ms\r\n\r\nthe beginning`)
    assert.match(await hurried.untilOver(), /^HTTP\/1\.1 504 /)
  },
)

/** Hands everything on, but answers the first tries to store an object with 503. */
function busyFor(tries: number, target: string): RequestListener {
  let offers = 0
  const agent = new Agent({ keepAlive: false })
  return (request, response) => {
    const { method = 'GET', headers, url: path = '/' } = request
    if (method === 'PUT' && path.startsWith('/o/')) {
      offers += 1
      if (offers <= tries) {
        request.resume()
        response.writeHead(503, { 'content-type': 'application/problem+json' })
        response.end('{"status":503,"code":"busy","title":"Busy."}')
        return
      }
    }
    const onward = httpRequest(new URL(path, target), { method, headers, agent })
    onward.on('response', (incoming) => {
      response.writeHead(incoming.statusCode ?? 500, incoming.headers)
      incoming.pipe(response)
    })
    onward.on('error', () => {
      response.destroy()
    })
    request.pipe(onward)
  }
}

acceptance(
  'timeouts: a peer that is busy twice is asked a third time',
  { finding: 'seed-coverage 9' },
  async (world) => {
    const far = await world.startNode({ config: '[storage]\nplacement.id = "far"\n' })
    const between = world.own(await TestServer.start(busyFor(2, far.urls.storage)))
    const token = await world.write('peer.token', await far.adminToken())
    await chmod(token, 0o600)
    const peer = `{ id = "far", url = "${between.url}", token_file = ${JSON.stringify(token)} }`
    const near = await world.startNode({ config: `[storage]\npeers = [${peer}]\nplacement.id = "near"\n` })
    const { status, body } = await near.request('storage', '/o', { method: 'POST', admin: true, body: 'two copies' })
    assert.equal(status, 201, body.toString())
    const { address } = JSON.parse(body.toString()) as { address: string }
    assert.equal((await far.request('storage', `/o/${address}`)).body.toString(), 'two copies')
  },
)
