/** `resolve`, `providers` and `peers` against a stand-in for the index: what they print, word by word. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { encodeTrust } from '@cairn/names'
import { cidFromAddress } from '@cairn/wire'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { manifest, SampleLog, sampleSigner } from './sample-log.ts'

const ALICE = sampleSigner(1, 'alice')
const SITE = manifest('a')
const PROVIDERS = {
  cid: SITE,
  providers: [
    {
      id: '12D3KooWNear',
      http: ['http://a.example:7071'],
      region: 'eu-west',
      class: 'region_match',
      score: 0.875,
      last_seen_s: 4,
    },
    { id: '12D3KooWFar', http: [], class: 'unverified', score: 0.1, last_seen_s: 90, extra: 'ignored' },
  ],
  hedge: { alpha_ms: 150, beta_ms: 31, winner: 'beta' },
}

interface Reply {
  readonly status: number
  readonly body: unknown
}

let directory = ''
let state = ''
let url = ''
let server: Server
let log: SampleLog
let asked: string[] = []
/** By path without the query; everything else is not found. */
let replies: Record<string, Reply | ((query: URLSearchParams) => Promise<Reply>)> = {}

const path = (name: string): string => join(directory, name)

function problem(status: number, code: string, detail: string): Reply {
  return { status, body: { type: 'x', title: 'x', status, detail, code, corr_id: 'c' } }
}

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-finding-'))
  server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const { pathname, searchParams, search } = new URL(request.url ?? '', 'http://localhost')
      const key = decodeURIComponent(pathname)
      if (key !== '/version') asked.push(`${request.method} ${key}${search}`)
      const reply = replies[key] ?? problem(404, 'not_found', 'Nothing is known.')
      const { status, body } = typeof reply === 'function' ? await reply(searchParams) : reply
      const type = status >= 400 ? 'application/problem+json' : 'application/json'
      response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body))
    }
    answer().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(async () => {
  server.closeAllConnections()
  server.close()
  await rm(directory, { recursive: true })
})
beforeEach(async () => {
  state = await mkdtemp(join(directory, 'state-'))
  log = new SampleLog([ALICE], 1)
  log.setName('site@1.0', 'a', [ALICE])
  asked = []
  replies = { '/version': { status: 200, body: { service: 'index' } } }
  replies['/resolve/name:site@1.0'] = async (query) => ({ status: 200, body: await resolution(query) })
  replies[`/providers/${SITE}`] = { status: 200, body: PROVIDERS }
  await writeFile(path('trust.json'), encodeTrust(log.trust))
  await writeFile(path('token'), 'to.ken')
})

async function resolution(query: URLSearchParams): Promise<Record<string, unknown>> {
  const from = query.get('from')
  const proof = await log.nameProof('site@1.0', from === null ? undefined : Number(from))
  return {
    key: 'name:site@1.0',
    kind: 'name',
    manifest_cid: SITE,
    source: 'registry',
    integrity: { algo: 'blake3', digest: SITE.slice(3) },
    etag: SITE,
    freshness_s: 1,
    providers_hint: 2,
    proof: new TextDecoder().decode(proof),
  }
}

async function run(...args: readonly string[]) {
  const terminal = new Capture({ environment: { XDG_STATE_HOME: state } })
  const code = await main([...args, '--node', url, '--token-file', path('token')], terminal)
  const words = terminal.words.replaceAll(url, 'URL').replaceAll(directory, 'DIR')
  return { code, data: terminal.data, words }
}

async function refused(...args: readonly string[]) {
  const { code, data } = await run(...args, '--json')
  const { ok, error, next } = JSON.parse(data) as {
    ok: boolean
    error: { code: string; detail: string }
    next: string[]
  }
  assert.equal(ok, false)
  return { code, error, next }
}

test('resolve shows address, source and providers, and how to have it proved', async () => {
  const { code, data, words } = await run('resolve', 'name:site@1.0', '--fresh')
  assert.equal(code, 0, words)
  assert.deepEqual(data.split('\n'), [
    'key        name:site@1.0',
    `manifest   ${SITE}`,
    'source     registry, 1 second old',
    'providers  12D3KooWNear  region_match  0.88  4 s ago  eu-west  http://a.example:7071',
    '           12D3KooWFar  unverified  0.10  90 s ago  no address known',
    '',
  ])
  assert.deepEqual(words.split('\n'), [
    '✔ as the index says; nothing of it is proved here',
    '  Next:  npx cairn resolve name:site@1.0 --node URL --token-file DIR/token --proof FILE',
    '',
  ])
  assert.deepEqual(asked, ['GET /resolve/name:site@1.0?fresh=true', `GET /providers/${SITE}`])
})

test('resolve --json is the same as one object', async () => {
  const { data } = await run('resolve', 'name:site@1.0', '--json')
  const { schema, ok, result } = JSON.parse(data) as { schema: string; ok: boolean; result: unknown }
  const [near, far] = PROVIDERS.providers
  assert.deepEqual(
    { schema, ok, result },
    {
      schema: 'cairn.resolve/1',
      ok: true,
      result: {
        key: 'name:site@1.0',
        kind: 'name',
        manifest: SITE,
        source: 'registry',
        freshness_s: 1,
        providers: [near, { id: far!.id, http: [], region: null, class: 'unverified', score: 0.1, last_seen_s: 90 }],
        proof: null,
      },
    },
  )
})

test('the proof that resolve writes verifies offline, and not after one flipped byte', async () => {
  const wrote = await run('resolve', 'name:site@1.0', '--proof', path('first.proof'))
  assert.equal(wrote.code, 0, wrote.words)
  assert.match(
    wrote.words,
    /its proof is in DIR\/first\.proof\n {2}Next: {2}npx cairn verify-proof DIR\/first\.proof --trust FILE\n/,
  )
  const verified = await run('verify-proof', path('first.proof'), '--trust', path('trust.json'))
  assert.equal(verified.code, 0, verified.words)
  assert.match(verified.data, new RegExp(`says +site@1.0 means ${SITE} at version 1`))
  const bytes = await readFile(path('first.proof'))
  bytes[bytes.length >> 1]! ^= 1
  await writeFile(path('flipped.proof'), bytes)
  assert.equal((await run('verify-proof', path('flipped.proof'), '--trust', path('trust.json'))).code, 4)
})

test('a proof continues what was seen before of the log', async () => {
  await run('resolve', 'name:site@1.0', '--proof', path('early.proof'))
  assert.equal((await run('verify-proof', path('early.proof'), '--trust', path('trust.json'))).code, 0)
  log.setName('other@1', 'b', [ALICE])
  asked = []
  assert.equal((await run('resolve', 'name:site@1.0', '--proof', path('late.proof'))).code, 0)
  assert.deepEqual(asked.slice(0, 2), ['GET /resolve/name:site@1.0', 'GET /resolve/name:site@1.0?fresh=true&from=4'])
  const verified = await run('verify-proof', path('late.proof'))
  assert.equal(verified.code, 0, verified.words)
  assert.match(verified.data, /pin +The checkpoint continues the one of size 4/)
})

test('what resolve refuses, and what to do then', async () => {
  const bare = await refused('resolve', 'site@1.0')
  assert.deepEqual(
    [bare.code, bare.error.detail],
    [2, 'A key is name:… or b3:…, not site@1.0; did you mean name:site@1.0?'],
  )
  const address = await refused('resolve', SITE, '--proof', path('x.proof'))
  assert.deepEqual([address.code, address.error.code], [2, 'usage'])
  await writeFile(path('there.proof'), 'mine')
  const there = await refused('resolve', 'name:site@1.0', '--proof', path('there.proof'))
  assert.deepEqual([there.code, there.error.code], [8, 'exists_already'])
  assert.equal(await readFile(path('there.proof'), 'utf8'), 'mine')
  const none = await refused('resolve', 'name:none@1')
  assert.deepEqual([none.code, none.error.code, none.error.detail], [3, 'no_name', 'name:none@1 was not found.'])
  assert.deepEqual(none.next, ['npx cairn name log', 'npx cairn name propose NAME ADDRESS'])
  const nobody = await refused('resolve', manifest('nobody'))
  assert.deepEqual([nobody.code, nobody.error.code], [3, 'no_providers'])
  replies['/resolve/name:site@1.0'] = problem(503, 'upstream_unready', 'The registry cannot be asked.')
  const unready = await refused('resolve', 'name:site@1.0', '--timeout', '1s')
  assert.deepEqual([unready.code, unready.error.code], [6, 'upstream_unready'])
  assert.deepEqual(unready.next, ['npx cairn status'])
})

test('a name that only this index knows has no proof to write', async () => {
  const { proof: _proof, ...local } = await resolution(new URLSearchParams())
  replies['/resolve/name:site@1.0'] = { status: 200, body: { ...local, source: 'db' } }
  const shown = await run('resolve', 'name:site@1.0')
  assert.match(shown.words, new RegExp(`Next: {2}npx cairn get ${SITE}`))
  const unproved = await refused('resolve', 'name:site@1.0', '--proof', path('local.proof'))
  assert.deepEqual([unproved.code, unproved.error.code], [3, 'no_proof'])
})

test('what a name means is told even if nobody can say who holds it', async () => {
  replies[`/providers/${SITE}`] = problem(504, 'timeout', 'The lookup took too long.')
  const { code, data, words } = await run('resolve', 'name:site@1.0', '--timeout', '1s')
  assert.equal(code, 0, words)
  assert.match(data, /providers {2}none known\n/)
  assert.match(words, /Who holds it is not known now: .*The lookup took too long\./)
})

test('an index that does not speak as agreed is not believed', async () => {
  const honest = await resolution(new URLSearchParams())
  for (const lie of [{ key: 'name:other@1' }, { manifest_cid: 'b3:short' }, { source: 'hearsay' }, { proof: 7 }]) {
    replies['/resolve/name:site@1.0'] = { status: 200, body: { ...honest, ...lie } }
    const { code, error } = await refused('resolve', 'name:site@1.0')
    assert.deepEqual([code, error.code], [1, 'bad_answer'], JSON.stringify(lie))
  }
  replies[`/resolve/${SITE}`] = {
    status: 200,
    body: { ...honest, key: SITE, kind: 'cid', manifest_cid: manifest('other') },
  }
  assert.equal((await refused('resolve', SITE)).error.code, 'bad_answer')
})

test('providers lists who holds an address, by its own name or its CID', async () => {
  for (const operand of [SITE, cidFromAddress(SITE)]) {
    const { code, data, words } = await run('providers', operand, '--limit', '7', '--region', 'eu-west')
    assert.equal(code, 0, words)
    assert.deepEqual(data.split('\n'), [
      '12D3KooWNear  region_match  0.88  4 s ago  eu-west  http://a.example:7071',
      '12D3KooWFar  unverified  0.10  90 s ago  no address known',
      '',
    ])
    assert.match(words, /^✔ 2 providers, best first; asked in two waves, 150 and 31 ms, beta was first\n/)
    assert.equal(asked.at(-1), `GET /providers/${SITE}?limit=7&region=eu-west`)
  }
  const { data } = await run('providers', SITE, '--json')
  const { schema, result } = JSON.parse(data) as { schema: string; result: { cid: string; hedge: unknown } }
  assert.deepEqual([schema, result.cid, result.hedge], ['cairn.providers/1', SITE, PROVIDERS.hedge])
})

test('what providers refuses', async () => {
  const nobody = await refused('providers', manifest('nobody'))
  assert.deepEqual([nobody.code, nobody.error.code], [3, 'no_providers'])
  assert.deepEqual(nobody.next, ['npx cairn peers', 'npx cairn put FILE'])
  for (const limit of ['0', '33', 'many']) assert.equal((await refused('providers', SITE, '--limit', limit)).code, 2)
  assert.equal((await refused('providers', 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi')).code, 2)
  assert.equal((await refused('providers', 'nothing')).code, 2)
})

test('peers lists whom the node knows, or says what to set', async () => {
  const known = [
    { id: '12D3KooWNear', addresses: ['/ip4/192.0.2.1/tcp/4001'], connected: true },
    { id: '12D3KooWFar', addresses: [], connected: false },
  ]
  replies['/peers'] = { status: 200, body: { peers: known } }
  const { code, data, words } = await run('peers')
  assert.equal(code, 0, words)
  assert.equal(data, '12D3KooWNear  connected  /ip4/192.0.2.1/tcp/4001\n12D3KooWFar  known  no address known\n')
  assert.equal(words, '✔ 2 peers of the network, 1 connected\n')
  const json = JSON.parse((await run('peers', '--json')).data) as { result: unknown }
  assert.deepEqual(json.result, { peers: known, connected: 1, storage: [] })
  replies['/peers'] = { status: 200, body: { peers: [] } }
  const alone = await run('peers')
  assert.deepEqual([alone.code, alone.data], [0, ''])
  assert.match(alone.words, /no peers: storage\.peers names none, and neither index\.dht\.endpoints/)
  replies['/peers'] = problem(403, 'scope_missing', 'The token does not allow index:read.')
  const denied = await refused('peers')
  assert.equal(denied.code, 7)
  assert.match(denied.error.detail, /^The index at http:\S+ refuses the token in \S+\/token: The token does not allow/)
})
