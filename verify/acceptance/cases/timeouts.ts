/** Time that runs out: whose it was decides the answer. */
import assert from 'node:assert/strict'
import { acceptance } from '../case.ts'

acceptance(
  'timeouts: a body that stops is the fault of its client at the shipped limits: 408, counted once',
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
