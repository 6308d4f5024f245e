import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Breakers, CairnError, Deadline, type ErrorKind, isKind } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import { createGenesis, headOf, type Payload, payloadHash } from '@cairn/names'
import { encodeEntryBundle } from '@cairn/tlog/testing'
import type { IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import { addressOf, canonicalJson, type JsonValue, toBase64url } from '@cairn/wire'
import { type CallContext, Caller } from './caller.ts'
import { type RegistryClient, type RegistryEvent, registryClient } from './registry-client.ts'

type Reply = IncomingResponse | CairnError

/** Answers in turn; the last answer stays. */
class ScriptedTransport implements Transport {
  readonly requests: OutgoingRequest[] = []
  readonly #replies: readonly Reply[]

  constructor(...replies: readonly Reply[]) {
    this.#replies = replies
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    const reply = this.#replies[Math.min(this.requests.length, this.#replies.length - 1)]!
    this.requests.push(request)
    if (reply instanceof CairnError) throw reply
    return reply
  }

  async close(): Promise<void> {}
}

function bytes(status: number, ...parts: readonly (Uint8Array | Error)[]): IncomingResponse {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const part of parts) {
      if (part instanceof Error) throw part
      yield part
    }
  }
  return { status, headers: {}, body: { [Symbol.asyncIterator]: body, cancel: () => {} } }
}

const json = (status: number, value: JsonValue): IncomingResponse => bytes(status, canonicalJson(value))
const text = (value: string): Uint8Array => new TextEncoder().encode(value)

function problem(status: number, code: string): IncomingResponse {
  const body = canonicalJson({ type: 'x', title: 'x', status, detail: `It is ${code}.`, code, corr_id: 'c' })
  return { ...bytes(status, body), headers: { 'content-type': 'application/problem+json' } }
}

interface World {
  readonly transport: ScriptedTransport
  ask<T>(use: (client: RegistryClient, context: CallContext) => Promise<T>, signal?: AbortSignal): Promise<T>
}

function world(...replies: readonly Reply[]): World {
  const transport = new ScriptedTransport(...replies)
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime)
  const grant = {
    scopes: ['registry:propose', 'registry:approve', 'registry:commit', 'registry:anchor'],
    bearer: async () => 'tok.en',
  } as const
  const base = new URL('http://peer.example:7073/')
  const client = registryClient(new Caller({ runtime, transport, base, target: 'registry', breakers, grant }))
  return {
    transport,
    ask: async (use, signal) => {
      const asked = use(client, { deadline: Deadline.after(runtime.clock, 60_000), signal })
      // Retries wait on the virtual clock.
      const [value] = await Promise.all([asked.catch((error: unknown) => error), runtime.clock.run(120_000)])
      breakers.close()
      assert.equal(runtime.topology.size, 0)
      assert.equal(runtime.clock.pending(), 0)
      if (value instanceof Error) throw value
      return value as never
    },
  }
}

function isError(kind: ErrorKind, code: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(isKind(error, kind), String(error))
    assert.equal(error.code, code)
    return true
  }
}

const ID = `p_${'01'.repeat(16)}`
const ADDRESS = addressOf(text('x'))
const SIGNER = { id: 'alice', algo: 'ed25519', key: toBase64url(new Uint8Array(32)) } as const
const GENESIS = createGenesis({ m: 1, signers: [SIGNER] }, { proposal_id: ID, committed_at: 5 })
const ITEM = { kind: 'name', id: 'site@1.0', prev: null, manifest: ADDRESS } as const
const PAYLOAD: Payload = { items: [ITEM] }
const FACTS = { version: 3, hash: ADDRESS, payload_b3: ADDRESS, log_index: 9, committed_at: 7 }
const QUORUM = { m: 2, n: 3, approved: ['alice'], missing: ['bob', 'carol'], incoming: { approved: [], missing: [] } }
const PROPOSAL = { proposal_id: ID, expires_at: 9, signer_set_hash: ADDRESS, payload_b3: payloadHash(PAYLOAD) }

test('reads go to their routes without a token, and are tried again', async () => {
  const tile = { level: 1, index: 1234, width: 2 } as const
  const runs: [string, IncomingResponse, (client: RegistryClient, context: CallContext) => Promise<unknown>][] = [
    ['registry/head', json(200, { ...FACTS, origin: 'o', minimum_index: 0 }), (client, at) => client.head(at)],
    ['registry/0', json(200, GENESIS), (client, at) => client.version(0, at)],
    [
      'registry/names/site%401.0',
      json(200, { name: ITEM.id, item: ITEM, version: 3 }),
      (client, at) => client.name(ITEM.id, undefined, at),
    ],
    [
      'registry/names/site%401.0?at=7',
      json(200, { name: ITEM.id, item: ITEM, version: 3 }),
      (client, at) => client.name(ITEM.id, 7, at),
    ],
    [
      'registry/names/site%401.0/history?before=9&limit=2',
      json(200, { name: ITEM.id, versions: [7, 3] }),
      (client, at) => client.history(ITEM.id, 9, 2, at),
    ],
    ['registry/proposals?after=4', json(200, { proposals: [], cursor: null }), (client, at) => client.proposals(4, at)],
    ['registry/proof/7', bytes(200, text('proof')), (client, at) => client.proof({ version: 7 }, undefined, at)],
    [
      'registry/proof/name/site%401.0?from=9',
      bytes(200, text('proof')),
      (client, at) => client.proof({ name: ITEM.id }, 9, at),
    ],
    ['log/checkpoint', bytes(200, text('note')), (client, at) => client.checkpoint(at)],
    ['log/tile/1/x001/234.p/2', bytes(200, new Uint8Array(64)), (client, at) => client.tile(tile, at)],
    ['log/tile/entries/000.p/1', bytes(200, encodeEntryBundle([text('e')])), (client, at) => client.entries(0, 1, at)],
  ]
  for (const [path, reply, use] of runs) {
    const { transport, ask } = world(new CairnError('Timeout', 'gone', { code: 'connection_lost' }), reply)
    await ask(use)
    assert.deepEqual(
      transport.requests.map(({ method, url }) => `${method} ${url.href}`),
      [`GET http://peer.example:7073/${path}`, `GET http://peer.example:7073/${path}`],
    )
    assert.equal(transport.requests[0]!.headers['authorization'], undefined, path)
  }
})

test('writes carry the token and canonical JSON; only a commit and a proposal with an id of its own are tried again', async () => {
  const proposed = { proposal_id: ID, payload_b3: ADDRESS, signing_input: 's', expires_at: 9, quorum: QUORUM }
  const approval = { signer_id: 'alice', sig: toBase64url(new Uint8Array(64)) }
  const audit = { head: ADDRESS, count: 4 }
  const runs: [string, JsonValue, number, Uint8Array, (client: RegistryClient, at: CallContext) => Promise<unknown>][] =
    [
      [
        'registry/proposals',
        proposed,
        1,
        canonicalJson({ payload: PAYLOAD, supersede: { of: ADDRESS, reason: 'r' } }),
        (client, at) => client.propose(PAYLOAD, { of: ADDRESS, reason: 'r' }, at),
      ],
      [
        'registry/proposals',
        proposed,
        2,
        canonicalJson({ payload: PAYLOAD, proposal_id: ID }),
        (client, at) => client.proposeOnce(ID, PAYLOAD, at),
      ],
      [
        `registry/approvals/${ID}`,
        { quorum: QUORUM },
        1,
        canonicalJson(approval),
        (client, at) => client.approve(ID, approval, at),
      ],
      [`registry/commit/${ID}`, FACTS, 2, new Uint8Array(0), (client, at) => client.commit(ID, at)],
      ['log/audit-heads', { log_index: 12 }, 1, canonicalJson(audit), (client, at) => client.auditHead(audit, at)],
    ]
  for (const [path, reply, tries, body, use] of runs) {
    const { transport, ask } = world(json(201, reply))
    await ask(use)
    const [request] = transport.requests
    assert.equal(`${request!.method} ${request!.url.href}`, `POST http://peer.example:7073/${path}`)
    assert.equal(request!.headers['authorization'], 'Bearer tok.en')
    assert.deepEqual(request!.body, body)
    const failing = world(new CairnError('Timeout', 'gone', { code: 'connection_lost' }), json(201, reply))
    await failing.ask(use).catch(() => undefined)
    assert.equal(failing.transport.requests.length, tries, path)
  }
})

test('a commit that compare-and-set refuses is asked for once: the same would be refused again', async () => {
  const refused = world(problem(409, 'ChainMismatch'))
  const asked = refused.ask(async (client, context) => await client.commit(ID, context))
  await assert.rejects(asked, isError('ChainMismatch', 'ChainMismatch'))
  assert.equal(refused.transport.requests.length, 1)
})

test('what somebody has seen of the log is shown without a token, and the newest anchor of a chain is asked for', async () => {
  const shown = world(problem(503, 'busy'), json(200, { size: 9, log_size: 7, known: false }))
  assert.equal(await shown.ask(async (client, at) => await client.showCheckpoint(text('a note'), at)), false)
  assert.deepEqual(
    shown.transport.requests.map(({ url, headers }) => `${url.href} ${headers['authorization'] ?? 'open'}`),
    Array.from({ length: 2 }, () => 'http://peer.example:7073/log/checkpoint/seen open'),
  )
  const chain = '0f'.repeat(16)
  const anchored = world(json(200, { head: ADDRESS, count: 4, log_index: 8 }))
  const found = await anchored.ask(async (client, at) => await client.newestAuditHead(chain, at))
  assert.deepEqual(found, { head: ADDRESS, count: 4, logIndex: 8 })
  assert.equal(anchored.transport.requests[0]?.url.pathname, `/log/audit-heads/${chain}`)
  const none = world(problem(404, 'NotFound'))
  assert.equal(await none.ask(async (client, at) => await client.newestAuditHead(chain, at)), undefined)
})

test('a name that means nothing is no error; one that was removed with its history is', async () => {
  assert.equal(await world(problem(404, 'NotFound')).ask((client, at) => client.name(ITEM.id, 1, at)), undefined)
  const pruned = world(problem(410, 'Pruned')).ask((client, at) => client.name(ITEM.id, 1, at))
  await assert.rejects(pruned, isError('NotFound', 'Pruned'))
})

test('a proposal is open with all that a signer needs, or the version it became', async () => {
  const open = { status: 'open', ...PROPOSAL, payload: PAYLOAD, approvals: [], log_index: 4, quorum: QUORUM }
  const found = await world(json(200, open)).ask((client, at) => client.proposal(ID, at))
  assert.deepEqual(found, {
    status: 'open',
    proposal: PROPOSAL,
    payload: PAYLOAD,
    approvals: [],
    quorum: { ...QUORUM, isMet: false },
  })
  const done = await world(json(200, { status: 'committed', ...FACTS })).ask((client, at) => client.proposal(ID, at))
  assert.deepEqual(done, { status: 'committed', facts: FACTS })
  const page = { proposals: [{ ...PROPOSAL, log_index: 4, quorum: QUORUM }], cursor: 4 }
  const listed = await world(json(200, page)).ask((client, at) => client.proposals(undefined, at))
  assert.equal(listed.cursor, 4)
  assert.equal(listed.proposals[0]!.proposal.proposal_id, ID)
})

test('whether a quorum is met is counted, not believed', async () => {
  const met = { ...QUORUM, approved: ['alice', 'bob'], missing: ['carol'] }
  const lacking = { ...met, incoming: { approved: [], missing: ['dave'] } }
  const told: [JsonValue, boolean][] = [
    [{ ...QUORUM, isMet: true }, false],
    [{ ...met, isMet: false }, true],
    [{ ...lacking, isMet: true }, false],
  ]
  const approval = { signer_id: 'alice', sig: toBase64url(new Uint8Array(64)) }
  for (const [quorum, isMet] of told) {
    const counted = await world(json(200, { quorum })).ask((client, at) => client.approve(ID, approval, at))
    assert.equal(counted.isMet, isMet)
  }
})

test('an answer that is not what was asked for is refused', async () => {
  const open = { status: 'open', ...PROPOSAL, payload: PAYLOAD, approvals: [], quorum: QUORUM }
  const tile = { level: 0, index: 0, width: 2 } as const
  const cases: [IncomingResponse, (client: RegistryClient, at: CallContext) => Promise<unknown>][] = [
    [json(200, { ...FACTS, origin: 'o', minimum_index: 0, hash: 'b3:12' }), (client, at) => client.head(at)],
    [json(200, { ...FACTS, version: -1, origin: 'o', minimum_index: 0 }), (client, at) => client.head(at)],
    [bytes(200, text('<html>')), (client, at) => client.head(at)],
    [json(200, []), (client, at) => client.head(at)],
    [json(200, GENESIS), (client, at) => client.version(1, at)],
    [json(200, { ...GENESIS, extra: 1 }), (client, at) => client.version(0, at)],
    [json(200, { item: ITEM, version: 3 }), (client, at) => client.name('other@1', undefined, at)],
    [json(200, { ...open, proposal_id: `p_${'02'.repeat(16)}` }), (client, at) => client.proposal(ID, at)],
    [json(200, { ...open, status: 'maybe' }), (client, at) => client.proposal(ID, at)],
    [bytes(200, new Uint8Array(32)), (client, at) => client.tile(tile, at)],
  ]
  for (const [at, [reply, use]] of cases.entries())
    await assert.rejects(world(reply).ask(use), isError('Internal', 'bad_answer'), `case ${at}`)
})

test('an endless answer is given up', async () => {
  const endless = bytes(200, new Uint8Array(65))
  const tile = { level: 0, index: 0, width: 2 } as const
  await assert.rejects(
    world(endless).ask((client, at) => client.tile(tile, at)),
    isError('TooLarge', 'too_large'),
  )
  const long = bytes(200, new Uint8Array(5 * 1024 * 1024))
  await assert.rejects(
    world(long).ask((client, at) => client.head(at)),
    isError('TooLarge', 'too_large'),
  )
})

test('damage of the log is what it is over there, and is not asked for again', async () => {
  const { transport, ask } = world(problem(502, 'LogDamaged'))
  await assert.rejects(
    ask((client, at) => client.head(at)),
    isError('Integrity', 'LogDamaged'),
  )
  assert.equal(transport.requests.length, 1)
  await assert.rejects(
    world(problem(409, 'ChainMismatch')).ask((client, at) => client.commit(ID, at)),
    isError('ChainMismatch', 'ChainMismatch'),
  )
})

function frame(version: number, event = 'registry.update'): Uint8Array {
  const { hash } = headOf(GENESIS)
  const data = JSON.stringify({ version, hash, payload_b3: ADDRESS, committed_at: 1, corr_id: 'c' })
  return text(`id: ${version}\nevent: ${event}\ndata: ${data}\n\n`)
}

function told(event: RegistryEvent): string {
  return event.tag === 'update' ? String(event.facts.version) : `compacted ${event.head.version}`
}

/** What a stream tells until it has told `most` events, or fails. */
async function heard(world: World, after: number | undefined, most: number): Promise<string[]> {
  const events: string[] = []
  await world.ask(async (client, at) => {
    for await (const event of client.stream(after, at)) {
      events.push(told(event))
      if (events.length === most) break
    }
  })
  return events
}

test('a stream goes on over connections that end or break, without a gap and without an echo', async () => {
  const lost = new CairnError('Timeout', 'cut', { code: 'connection_lost' })
  const run = world(
    bytes(200, text(': hi\n\n'), frame(5), frame(6), lost),
    bytes(200, frame(6), frame(7)),
    bytes(200, frame(8)),
  )
  assert.deepEqual(await heard(run, 4, 4), ['5', '6', '7', '8'])
  assert.deepEqual(
    run.transport.requests.map(({ headers }) => headers['last-event-id']),
    ['4', '6', '7'],
  )
  assert.equal(run.transport.requests[0]!.url.pathname, '/registry/stream')
})

test('a stream from now on names no last event, and begins with whatever comes', async () => {
  const run = world(bytes(200, frame(9), frame(10)))
  assert.deepEqual(await heard(run, undefined, 2), ['9', '10'])
  assert.equal(run.transport.requests[0]!.headers['last-event-id'], undefined)
})

test('what was skipped is said, by the registry or because a version is missing', async () => {
  const run = world(bytes(200, frame(40, 'registry.compacted'), frame(41), frame(43)))
  assert.deepEqual(await heard(run, 4, 3), ['compacted 40', '41', 'compacted 43'])
})

test('events of other kinds are not for us', async () => {
  const run = world(bytes(200, frame(1, 'something.else'), frame(2)))
  assert.deepEqual(await heard(run, undefined, 1), ['2'])
})

test('a server that takes the connection and says nothing is asked about once a second, until the deadline', async () => {
  const run = world(bytes(200))
  await assert.rejects(heard(run, 4, 1), isError('Timeout', 'timeout'))
  assert.ok(
    run.transport.requests.length >= 55 && run.transport.requests.length <= 65,
    `${run.transport.requests.length}`,
  )
})

test('a stream ends when its reader leaves, and with the error where nobody answers', async () => {
  const gone = new AbortController()
  const run = world(bytes(200, frame(5)), bytes(200))
  const events: string[] = []
  const read = run.ask(async (client, at) => {
    for await (const event of client.stream(4, { ...at, signal: gone.signal })) {
      events.push(told(event))
      gone.abort(new CairnError('Canceled', 'The reader left.'))
    }
  })
  await assert.rejects(read, (error) => isKind(error, 'Canceled'))
  assert.deepEqual(events, ['5'])
  const nobody = world(new CairnError('Timeout', 'nobody', { code: 'unreachable', status: 502 }))
  await assert.rejects(heard(nobody, 4, 1), isError('Timeout', 'unreachable'))
})

test('an event that is no version ends the stream', async () => {
  const bad = text('event: registry.update\ndata: {"version":"x"}\n\n')
  await assert.rejects(heard(world(bytes(200, bad)), 4, 1), isError('Internal', 'bad_answer'))
})
