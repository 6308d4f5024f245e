import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { type Answer, ask as askPeer, bodyOf, isBadAnswer } from '../test/answering.ts'
import type { CallContext } from './caller.ts'
import { type InteropClient, interopClient } from './interop-client.ts'

const HEAD = addressOf(new TextEncoder().encode('x'))
const RECEIPT = { id: 'm', attempt: 2, nonce: 'n' }
const MESSAGE = { id: 'm', topic: 't', key: null, sent_at: 7, body: { any: 'thing' } }
const LEASED = { message: MESSAGE, receipt: RECEIPT, visibility_ms: 30_000 }
const PAGE = { messages: [{ ...MESSAGE, key: 'k', attempts: 1, state: 'ready' }], next: 'm' }
const AUDIT = { lines: ['{}', '{}'], next: 5, first: 2, count: 9, head: HEAD, anchored: 0, anchor: null }
const BUSY = {
  type: 'x',
  title: 'x',
  status: 503,
  detail: 'Later.',
  code: 'BACKPRESSURE',
  corr_id: 'c',
  retry_after: 1,
}

async function ask<T>(answers: readonly Answer[], use: (client: InteropClient, context: CallContext) => Promise<T>) {
  const scopes = ['mailbox:recv', 'mailbox:admin', 'audit:read', 'events:read', 'interop:admin'] as const
  return await askPeer(interopClient, scopes, answers, use)
}

test('a message is leased with its receipt; that there is none is an answer', async () => {
  const { value, lines, requests } = await ask([{ status: 200, body: LEASED }], (client, at) =>
    client.lease('t/x', 5, at),
  )
  assert.deepEqual(lines, ['POST /mailbox/t%2Fx/lease?wait=5'])
  assert.equal(requests[0]!.headers['authorization'], 'Bearer tok.en')
  assert.deepEqual(value, {
    message: { id: 'm', topic: 't', key: undefined, sentAt: 7, body: { any: 'thing' } },
    receipt: RECEIPT,
    visibilityMs: 30_000,
  })
  const none = await ask([{ status: 204 }], (client, at) => client.lease('t', 0, at))
  assert.deepEqual([none.value, none.lines], [undefined, ['POST /mailbox/t/lease']])
})

test('what must not happen twice is asked once; what may is tried again', async () => {
  const busy = { status: 503, body: BUSY }
  const isBusy = (error: unknown): boolean => isKind(error, 'Backpressure') || isKind(error, 'StorageBusy')
  const once: ((client: InteropClient, at: CallContext) => Promise<unknown>)[] = [
    (client, at) => client.lease('t', 0, at),
    (client, at) => client.ack('t', RECEIPT, at),
    (client, at) => client.nack('t', RECEIPT, at),
    (client, at) => client.adopt(at),
  ]
  for (const use of once) {
    // A second try would be answered, and nothing would be thrown.
    await assert.rejects(ask([busy, { status: 200, body: LEASED }], use), isBusy)
  }
  const again = await ask([busy, { status: 200, body: PAGE }], (client, at) => client.peek('t', { limit: 9 }, at))
  assert.deepEqual(again.lines, ['GET /mailbox/t?limit=9', 'GET /mailbox/t?limit=9'])
})

test('every other call goes to its route, with what it is about', async () => {
  const acked = await ask([{ status: 204 }], (client, at) => client.ack('t', RECEIPT, at))
  assert.deepEqual([acked.lines, bodyOf(acked.requests[0]!)], [['POST /mailbox/t/m/ack'], RECEIPT])
  const adopted = await ask([{ status: 200, body: { lost: 'x', line: 4 } }], (client, at) => client.adopt(at))
  assert.deepEqual([adopted.lines, adopted.value], [['POST /admin/adopt'], { lost: 'x', line: 4 }])
  const nacked = await ask([{ status: 204 }], (client, at) => client.nack('t', RECEIPT, at))
  assert.deepEqual(nacked.lines, ['POST /mailbox/t/m/nack'])
  const dead = await ask([{ status: 200, body: PAGE }], (client, at) =>
    client.dead('@f', { after: 'a b', limit: 3 }, at),
  )
  assert.deepEqual(dead.lines, ['GET /mailbox/%40f/dead?limit=3&after=a%20b'])
  assert.deepEqual(dead.value, {
    messages: [{ id: 'm', topic: 't', key: 'k', sentAt: 7, body: { any: 'thing' }, attempts: 1, state: 'ready' }],
    next: 'm',
  })
  for (const [ids, body] of [
    [undefined, {}],
    [['m'], { ids: ['m'] }],
  ] as const) {
    const replayed = await ask([{ status: 200, body: { replayed: 4 } }], (client, at) => client.replay('t', ids, at))
    assert.deepEqual([replayed.value, bodyOf(replayed.requests[0]!)], [4, body])
  }
})

test('audit lines are the bytes that were hashed', async () => {
  const anchor = { head: HEAD, count: 1, log_index: 8 }
  const { value, lines } = await ask([{ status: 200, body: { ...AUDIT, anchor } }], (client, at) =>
    client.audit(3, 2, at),
  )
  assert.deepEqual(lines, ['GET /audit?limit=2&cursor=3'])
  assert.deepEqual(value, {
    lines: [new TextEncoder().encode('{}'), new TextEncoder().encode('{}')],
    next: 5,
    first: 2,
    count: 9,
    head: HEAD,
    anchor: { head: HEAD, count: 1, logIndex: 8 },
  })
  for (const lie of [{ lines: [7] }, { next: 1 }, { head: 'b3:00' }, { count: -1 }, { anchor: { head: HEAD } }])
    await assert.rejects(
      ask([{ status: 200, body: { ...AUDIT, ...lie } }], (client, at) => client.audit(undefined, 1, at)),
      isBadAnswer,
      JSON.stringify(lie),
    )
})

test('who is let in is told with the places of secrets; what is not of that form is refused', async () => {
  const secrets = [
    { id: 'env:A', not_after: 7 },
    { id: 'file:b', not_after: null },
  ]
  const told = {
    providers: [{ provider: 'github', enabled: true, secrets }],
    generic: { signed: '{body}' },
    rules: [{ provider: 'github', event: '*', effect: 'mailbox:t' }],
  }
  const { value, lines } = await ask([{ status: 200, body: told }], (client, at) => client.hooks(at))
  assert.deepEqual(lines, ['GET /webhooks'])
  assert.deepEqual(value.providers, [
    {
      name: 'github',
      isEnabled: true,
      secrets: [
        { id: 'env:A', notAfterMs: 7 },
        { id: 'file:b', notAfterMs: undefined },
      ],
    },
  ])
  assert.deepEqual([value.generic, value.rules], [told.generic, told.rules])
  for (const lie of [{ providers: 1 }, { generic: null }, { rules: [{}] }, { providers: [{ provider: 'x' }] }])
    await assert.rejects(
      ask([{ status: 200, body: { ...told, ...lie } }], (client, at) => client.hooks(at)),
      isBadAnswer,
      JSON.stringify(lie),
    )
})

test('a webhook is sent once, without our token, and whatever is said to it is the answer', async () => {
  for (const status of [202, 401, 503]) {
    const { value, lines, requests } = await ask([{ status, body: 'said' }], (client, at) =>
      client.webhook('github', { 'x-hub-signature-256': 's' }, new Uint8Array([1]), at),
    )
    assert.deepEqual([value.status, value.text, lines], [status, 'said', ['POST /webhooks/github']])
    assert.equal(requests[0]!.headers['authorization'], undefined)
    assert.equal(requests[0]!.headers['x-hub-signature-256'], 's')
  }
})

test('events go on where a connection ended', async () => {
  const first = 'id: a-1\n\nid: a-2\nevent: one\ndata: {}\n\n'
  const second = 'id: a-3\nevent: two\ndata: {}\n\n'
  let opened = 0
  const { value, requests } = await ask(
    [
      { status: 200, body: first },
      { status: 200, body: second },
    ],
    async (client, at) => {
      const heard: string[] = []
      for await (const { id, event } of client.events(at, () => (opened += 1))) {
        heard.push(`${id} ${event}`)
        if (heard.length === 2) break
      }
      return heard
    },
  )
  assert.deepEqual([value, opened], [['a-2 one', 'a-3 two'], 1])
  assert.deepEqual(
    requests.map(({ headers }) => headers['last-event-id']),
    [undefined, 'a-2'],
  )
})
