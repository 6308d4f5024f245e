import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { addressOf, signStatement, statementText } from '@cairn/wire'
import { LiarServer } from './liar-server.ts'
import { LIE_NAMES, LIES } from './lies.ts'
import {
  type Forward,
  jsonAnswer,
  octetsAnswer,
  PEER_ROUTES,
  type PeerRequest,
  type PeerRoute,
  routeOf,
} from './message.ts'
import { StorageLiar } from './storage-liar.ts'

const BYTES = Buffer.from('some bytes of an object that is here')
const ID = addressOf(BYTES)
const OTHER = addressOf(Buffer.from('another'))

function record(object: typeof ID): string {
  const signer = { node: new Uint8Array(32).fill(1), sign: () => new Uint8Array(64).fill(2) }
  const claim = { verb: 'delete', object, owner: '', epoch: 1, counter: 1, at: 1 } as const
  return statementText(signStatement(signer, claim).bytes)
}

const REQUESTS: Readonly<Record<Exclude<PeerRoute, 'other'>, PeerRequest>> = {
  known: asking('POST', '/copies/known', { ids: [ID, OTHER] }),
  page: asking('GET', '/copies?limit=10'),
  facts: asking('GET', `/copies/${ID}`),
  challenge: asking('POST', '/copies/challenge', { nonce: '00', chunks: [] }),
  manifest: asking('GET', `/m/${ID}?copy`),
  chunk: asking('GET', `/c/${ID}`),
  missing: asking('POST', '/c/missing?upload=u', { ids: [ID, OTHER] }),
  'put-chunks': asking('POST', '/c?upload=u', 'frames'),
  commit: asking('PUT', `/m/${ID}?upload=u&copy=7`, 'manifest'),
  put: asking('PUT', `/o/${ID}?copy=7`, BYTES.toString()),
  remove: asking('DELETE', `/o/${ID}?copy=9`),
  hold: asking('PUT', `/refs/me/${ID}?copy`),
  release: asking('DELETE', `/refs/me/${ID}?copy`),
}

function asking(method: string, target: string, body?: unknown): PeerRequest {
  const isText = typeof body === 'string'
  const text = body === undefined ? '' : isText ? body : JSON.stringify(body)
  return { method, target, headers: isText ? {} : { 'content-type': 'application/json' }, body: Buffer.from(text) }
}

/** A node that has one object, for which somebody signed, and a delete of another. */
const honest: Forward = async (request) => {
  switch (routeOf(request)) {
    case 'known': {
      const copies = [
        { tag: 'object', version: 7, proved: false, owners: ['me'], record: record(ID) },
        { tag: 'tombstone', version: 9, record: record(OTHER) },
      ]
      return await Promise.resolve(jsonAnswer({ node: 'm', version: 9, copies }))
    }
    case 'page':
      return jsonAnswer({ copies: [{ address: ID, tag: 'object', version: 7 }] })
    case 'facts':
      return jsonAnswer({ size: BYTES.length, type: 'text/plain', chunk_size: 65_536, version: 7, owners: ['me'] })
    case 'challenge':
      return jsonAnswer({ proofs: [String(request.body.length).repeat(32)] })
    case 'manifest':
    case 'chunk':
      return octetsAnswer(BYTES)
    case 'missing':
      return jsonAnswer({ missing: [OTHER], upload: 'u' })
    case 'put-chunks':
      return jsonAnswer({ chunks: 5, new: 0 })
    case 'commit':
    case 'put':
      return jsonAnswer({ address: ID, size: 5, new: false })
    default:
      return { status: 403, headers: {}, body: new Uint8Array(0) }
  }
}

const never = async (): Promise<void> => await Promise.resolve()

/** The beginning of what it says. */
async function said(answer: Awaited<ReturnType<Forward>>): Promise<string> {
  let text = `${answer.status} ${JSON.stringify(answer.headers)} `
  const parts = answer.body instanceof Uint8Array ? [answer.body] : answer.body
  for await (const part of parts) {
    text += Buffer.from(part).toString('latin1')
    if (text.length > 100_000) break
  }
  return text
}

for (const name of LIE_NAMES)
  test(`a liar that tells ${name} says something else than an honest node, and counts it`, async () => {
    const { about } = LIES[name]
    const routes = PEER_ROUTES.filter(
      (route) => route !== 'other' && (about === 'all' || [...about].includes(route as never)),
    )
    const liar = new StorageLiar('m', honest, never)
    const differ: PeerRoute[] = []
    for (const route of routes) {
      if (route === 'other') continue
      const truth = await said(await honest(REQUESTS[route]))
      liar.tell()
      await liar.answer(REQUESTS[route])
      liar.tell(name)
      // What is replayed has to be seen first.
      const first = await said(await liar.answer(REQUESTS[route]))
      const later = { ...REQUESTS[route], body: Buffer.concat([REQUESTS[route].body, Buffer.from(' ')]) }
      const second = await said(await liar.answer(later))
      if (first !== truth || second !== (await said(await honest(later)))) differ.push(route)
    }
    assert.ok(differ.length > 0, `${name} is true`)
    assert.ok((liar.told.get(name) ?? 0) > 0)
  })

test('a liar with nothing to lie about hands on what the node behind it says, over real sockets', async () => {
  const server = createServer((request, response) => {
    const isAsked = request.headers.authorization === 'Bearer t' && request.url === '/copies?limit=3'
    response.writeHead(isAsked ? 200 : 500, { 'content-type': 'application/json' }).end('{"copies":[]}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await using liar = await LiarServer.start('m', () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const answer = await fetch(`${liar.url}/copies?limit=3`, { headers: { authorization: 'Bearer t' } })
  assert.equal(`${answer.status} ${await answer.text()}`, '200 {"copies":[]}')
  assert.equal(liar.liar.asked.get('page'), 1)
  server.close()
})
