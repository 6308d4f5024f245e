import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Breakers, Deadline, isKind } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import type { IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import { addressOf, fromBase64url } from '@cairn/wire'
import { type CallContext, Caller } from './caller.ts'
import { type IndexClient, indexClient } from './index-client.ts'

class Answering implements Transport {
  readonly requests: OutgoingRequest[] = []
  readonly #status: number
  readonly #body: unknown

  constructor(status: number, body: unknown) {
    this.#status = status
    this.#body = body
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    this.requests.push(request)
    const bytes = new TextEncoder().encode(typeof this.#body === 'string' ? this.#body : JSON.stringify(this.#body))
    async function* body(): AsyncGenerator<Uint8Array> {
      yield bytes
    }
    const type = this.#status >= 400 ? 'application/problem+json' : 'application/json'
    const headers = { 'content-type': type }
    return await Promise.resolve({
      status: this.#status,
      headers,
      body: { [Symbol.asyncIterator]: body, cancel: () => {} },
    })
  }

  async close(): Promise<void> {}
}

interface Asked<T> {
  readonly value: T
  readonly request: OutgoingRequest
  readonly requests: number
}

async function ask<T>(
  status: number,
  body: unknown,
  use: (client: IndexClient, context: CallContext) => Promise<T>,
): Promise<Asked<T>> {
  const transport = new Answering(status, body)
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime)
  const scopes = ['index:read', 'index:admin', 'index:pin', 'index:announce'] as const
  const grant = { scopes, bearer: async () => 'tok.en' }
  const base = new URL('http://peer.example:7072/')
  const client = indexClient(new Caller({ runtime, transport, base, target: 'index', breakers, grant }))
  const asked = use(client, { deadline: Deadline.after(runtime.clock, 60_000) })
  // Retries wait on the virtual clock.
  const [value] = await Promise.all([asked.catch((error: unknown) => error), runtime.clock.run(120_000)])
  breakers.close()
  assert.deepEqual([runtime.topology.size, runtime.clock.pending()], [0, 0])
  if (value instanceof Error) throw value
  return { value: value as T, request: transport.requests[0]!, requests: transport.requests.length }
}

function pathOf({ url }: OutgoingRequest): string {
  return `${url.pathname}${url.search}`
}

const CID = addressOf(new TextEncoder().encode('x'))
const PROOF = '{"checkpoint":"— «ü»\\n"}'
const NAMED = {
  key: 'name:site@1.0',
  kind: 'name',
  manifest_cid: CID,
  source: 'registry',
  integrity: { algo: 'blake3', digest: CID.slice(3) },
  etag: CID,
  freshness_s: 3,
  providers_hint: 2,
  proof: PROOF,
}
const PROVIDER = { id: 'p', http: ['http://p.example'], class: 'fresh', score: 0.5, last_seen_s: 7 }
const PROVIDERS = { cid: CID, providers: [PROVIDER], hedge: { alpha_ms: 12, winner: 'alpha' } }
const NOT_FOUND = { type: 'x', title: 'x', status: 404, detail: 'Nothing.', code: 'not_found', corr_id: 'c' }

function isBadAnswer(error: unknown): boolean {
  assert.ok(isKind(error, 'Internal') && error.code === 'bad_answer', String(error))
  return true
}

test('a name resolves to its address, with its proof byte for byte', async () => {
  const { value, request } = await ask(200, NAMED, (client, at) => client.resolve('name:site@1.0', {}, at))
  assert.equal(pathOf(request), '/resolve/name%3Asite%401.0')
  assert.equal(request.headers['authorization'], undefined)
  assert.deepEqual(value, {
    key: 'name:site@1.0',
    kind: 'name',
    manifest: CID,
    source: 'registry',
    freshnessSeconds: 3,
    providersHint: 2,
    proof: new TextEncoder().encode(PROOF),
  })
})

test('what is asked beside the key is in the query, and only what was given', async () => {
  const named = await ask(200, NAMED, (client, at) => client.resolve('name:site@1.0', { fresh: true, from: 9 }, at))
  assert.equal(pathOf(named.request), '/resolve/name%3Asite%401.0?fresh=true&from=9')
  const stale = await ask(200, NAMED, (client, at) => client.resolve('name:site@1.0', { fresh: false }, at))
  assert.equal(pathOf(stale.request), '/resolve/name%3Asite%401.0')
  const options = { limit: 3, region: 'eu west', minFreshness: 60 }
  const found = await ask(200, PROVIDERS, (client, at) => client.providers(CID, options, at))
  assert.equal(pathOf(found.request), `/providers/${CID}?limit=3&region=eu%20west&min_freshness=60`)
})

test('an answer about something else, or of another form, is refused', async () => {
  const lies = [
    { key: 'name:other@1' },
    { kind: 'thing' },
    { manifest_cid: 'b3:00' },
    { source: 'rumour' },
    { freshness_s: -1 },
    { providers_hint: '2' },
    { proof: 7 },
  ]
  for (const lie of lies) {
    const asked = ask(200, { ...NAMED, ...lie }, (client, at) => client.resolve('name:site@1.0', {}, at))
    await assert.rejects(asked, isBadAnswer, JSON.stringify(lie))
  }
  for (const body of ['', '[]', '{', 'null'])
    await assert.rejects(
      ask(200, body, (client, at) => client.resolve('name:site@1.0', {}, at)),
      isBadAnswer,
      body,
    )
  const other = { ...NAMED, key: CID, kind: 'cid', manifest_cid: addressOf(new Uint8Array(1)) }
  await assert.rejects(
    ask(200, other, (client, at) => client.resolve(CID, {}, at)),
    isBadAnswer,
    'an address is itself',
  )
  const rows = [
    { id: 7 },
    { http: 'x' },
    { http: [7] },
    { class: 'best' },
    { score: 1.5 },
    { last_seen_s: -1 },
    { region: 7 },
  ]
  for (const row of rows) {
    const body = { ...PROVIDERS, providers: [{ ...PROVIDER, ...row }] }
    await assert.rejects(
      ask(200, body, (client, at) => client.providers(CID, {}, at)),
      isBadAnswer,
      JSON.stringify(row),
    )
  }
  for (const body of [{ ...PROVIDERS, cid: 'b3:00' }, { cid: CID }, { ...PROVIDERS, hedge: 7 }])
    await assert.rejects(
      ask(200, body, (client, at) => client.providers(CID, {}, at)),
      isBadAnswer,
    )
  for (const body of [{}, { peers: [{ id: 'p', addresses: [] }] }])
    await assert.rejects(
      ask(200, body, (client, at) => client.peers(at)),
      isBadAnswer,
    )
})

test('that nothing is known is an answer; any other refusal is an error', async () => {
  const nothing = await ask(404, NOT_FOUND, (client, at) => client.resolve('name:none@1', {}, at))
  assert.deepEqual([nothing.value, nothing.requests], [undefined, 1])
  const nobody = await ask(404, NOT_FOUND, (client, at) => client.providers(CID, {}, at))
  assert.deepEqual(nobody.value, { cid: CID, providers: [] })
  const elsewhere = { ...NOT_FOUND, code: 'no_route' }
  const asked = ask(404, elsewhere, (client, at) => client.resolve('name:none@1', {}, at))
  await assert.rejects(asked, (error: unknown) => isKind(error, 'NotFound') && error.code === 'no_route')
})

test('providers come ranked, with how the lookup went', async () => {
  const { value } = await ask(200, PROVIDERS, (client, at) => client.providers(CID, {}, at))
  assert.deepEqual(value, {
    cid: CID,
    providers: [{ id: 'p', http: ['http://p.example'], class: 'fresh', score: 0.5, lastSeenSeconds: 7 }],
    hedge: { alphaMs: 12, winner: 'alpha' },
  })
})

test('every other call goes to its route, with the token for it', async () => {
  const records = [new Uint8Array([1, 2, 3])]
  const done = { ok: true }
  const peers = { peers: [{ id: 'p', addresses: ['/ip4/192.0.2.1/tcp/1'], connected: true }] }
  const announced = { accepted: 1, refused: [{ index: 4, code: 'stale', detail: 'Older.' }] }
  const runs: [string, unknown, (client: IndexClient, at: CallContext) => Promise<unknown>, unknown?][] = [
    ['GET /peers', peers, (client, at) => client.peers(at)],
    ['POST /announce', announced, (client, at) => client.announce(records, at), { records: ['AQID'] }],
    ['POST /admin/pin', done, (client, at) => client.pin(CID, at), { cid: CID }],
    ['POST /admin/unpin', done, (client, at) => client.unpin(CID, at), { cid: CID }],
    ['PUT /admin/names/a%401', done, (client, at) => client.putName('a@1', CID, at), { manifest_cid: CID }],
    ['DELETE /admin/names/a%401', done, (client, at) => client.removeName('a@1', at)],
    [
      `POST /providers/${CID}/report`,
      done,
      (client, at) => client.report(CID, 'p', 'corrupt', at),
      { provider: 'p', reason: 'corrupt' },
    ],
  ]
  for (const [line, answer, use, body] of runs) {
    const { request } = await ask(200, answer, use)
    assert.equal(`${request.method} ${pathOf(request)}`, line)
    assert.equal(request.headers['authorization'], 'Bearer tok.en', line)
    const sent: unknown =
      request.body instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(request.body)) : undefined
    assert.deepEqual(sent, body, line)
  }
  assert.deepEqual(fromBase64url('AQID'), records[0])
  assert.deepEqual((await ask(200, announced, (client, at) => client.announce(records, at))).value, announced)
  assert.deepEqual((await ask(200, peers, (client, at) => client.peers(at))).value, peers)
})
