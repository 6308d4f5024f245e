/** Whatever the plain reader takes, the full parser understands in the same way; what it leaves is left untouched. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { PlainHeads } from './plain-head.ts'

const NAMES = [
  'Host',
  'accept',
  'X-A',
  'x_b',
  'Cookie',
  'If-Match',
  'Connection',
  'Content-Length',
  'Range',
  'a b',
  '',
  'Expect',
  'x\x01',
  'Upgrade',
]
const VALUES = [
  'localhost',
  ' spaced ',
  '',
  'keep-alive',
  'close',
  'bytes=0-1',
  '0',
  'a\tb',
  'a\x00b',
  'é',
  '100-continue',
]
const BREAKS = ['\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r\n ']

const field = fc
  .tuple(
    fc.constantFrom(...NAMES),
    fc.constantFrom(':', ': ', ': ', ':\t', ' :'),
    fc.constantFrom(...VALUES),
    fc.constantFrom(...BREAKS),
  )
  .map((parts) => parts.join(''))
const head = fc
  .tuple(
    fc.constantFrom('GET', 'GET', 'HEAD', 'HEAD', 'get', 'POST'),
    fc.constantFrom('/', '/a', '/o/b3:00?x=1', '/%2e', '/~^"|', 'http://localhost/', '*', '/a b', '/é', ''),
    fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/1.1 '),
    fc.array(field, { maxLength: 3 }),
    fc.constantFrom('\r\n', '\r\n', '\r\n', '', '\r\nGET / HTTP/1.1\r\n\r\n', '\n'),
  )
  .map(([method, target, version, fields, end]) => `${method} ${target} ${version}\r\n${fields.join('')}${end}`)

/** What `node:http` makes of the bytes: the first message, if it is one. */
async function parsed(bytes: Buffer): Promise<Pick<IncomingMessage, 'method' | 'url' | 'rawHeaders'> | undefined> {
  const server = createServer({ requireHostHeader: false })
  return await new Promise((resolve) => {
    server.on('request', (message) => {
      resolve(message)
      message.socket.destroy()
      server.close()
    })
    server.on('clientError', (_, socket) => {
      socket.destroy()
      server.close()
      resolve(undefined)
    })
    server.listen(0, '127.0.0.1', () => {
      connect((server.address() as AddressInfo).port, '127.0.0.1')
        .on('error', () => {})
        .end(bytes)
    })
  })
}

test('what is plain means to the full parser what it means here', async () => {
  let plain = 0
  const property = fc.asyncProperty(head, async (text) => {
    const bytes = Buffer.from(text, 'latin1')
    const read = new PlainHeads().read(bytes)
    if (read === undefined) return
    plain += 1
    const message = await parsed(bytes)
    assert.deepEqual([message?.method, message?.url, message?.rawHeaders], [read.method, read.target, read.fields.raw])
  })
  await fc.assert(property, { numRuns: 3000 })
  assert.ok(plain > 50, `${plain} heads were plain`)
})

test('a head in parts, with more behind it, or about a body, is not plain', () => {
  const whole = 'GET /o HTTP/1.1\r\nHost: a\r\n\r\n'
  const heads = new PlainHeads()
  assert.notEqual(heads.read(Buffer.from(whole)), undefined)
  for (let length = 0; length < whole.length; length += 1) {
    assert.equal(heads.read(Buffer.from(whole.slice(0, length))), undefined)
  }
  assert.equal(heads.read(Buffer.from(whole + whole)), undefined)
  for (const more of ['Content-Length: 0', 'Transfer-Encoding: chunked', 'Expect: 100-continue', 'Connection: close']) {
    assert.equal(heads.read(Buffer.from(`GET /o HTTP/1.1\r\nHost: a\r\n${more}\r\n\r\n`)), undefined)
  }
})

test('fields that are the same as before are understood once', () => {
  const heads = new PlainHeads()
  const [first, second] = ['/a', '/b'].map((path) => heads.read(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)))
  assert.equal(first?.fields, second?.fields)
  assert.notEqual(heads.read(Buffer.from('GET /c HTTP/1.1\r\nHost: b\r\n\r\n'))?.fields.slot('host'), 'a')
})
