/** Every row of the route table: statuses, headers, problem bodies; on a disk, and in memory alone. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { artifactHash, itemHash, parseArtifact, parseTrust } from '@cairn/names'
import { canonicalJson, encodeCbor, parseJson } from '@cairn/wire'
import { type Answer, isProblem } from '../../../verify/virtual/answer.ts'
import { type Asking } from '../../../verify/virtual/virtual-service.ts'
import type { VersionSummary } from '../src/domain/ledger.ts'
import { TestService, tokenFor } from './harness.ts'
import { ALICE, address, BOB, named, type Opened, QuorumClient, rootsOf } from './signers.ts'

const OPTIONS = rootsOf(1, [ALICE, BOB])
const IMMUTABLE = 'public, max-age=31536000, immutable'
const JSON_HEADERS = { 'content-type': 'application/json' }

for (const disk of ['virtual', 'memory'] as const) {
  describe(disk === 'virtual' ? 'routes on a drive' : 'the same routes in amnesia', () => {
    let service: TestService
    let quorumClient: QuorumClient
    const ask = async (method: string, target: string, asking?: Asking): Promise<Answer> =>
      await service.ask(method, target, asking)

    before(async () => {
      service = await TestService.start({ ...OPTIONS, disk })
      quorumClient = new QuorumClient(service)
    })
    after(async () => {
      await service.stop()
    })

    test('POST /registry/proposals takes JSON and CBOR of a said length, and says what to sign', async () => {
      const payload = { items: [named('forms@1', 'x')], note: 'two spellings' }
      const body = canonicalJson({ payload })
      const asJson = await ask('POST', '/registry/proposals', { body, headers: JSON_HEADERS })
      const asCbor = await ask('POST', '/registry/proposals', {
        body: encodeCbor({ payload }),
        headers: { 'content-type': 'application/cbor' },
      })
      for (const answer of [asJson, asCbor]) {
        assert.equal(answer.status, 202)
        const opened = answer.json() as Opened
        assert.match(opened.proposal_id, /^p_[0-9a-f]{32}$/)
        assert.match(opened.signing_input, /^cairn:registry:v1\n\{"expires_at":/)
        assert.equal(opened.expires_at - Math.floor(service.platform.clock.wall()) > 86_000_000, true)
        assert.deepEqual(
          [answer.headers['cache-control'], answer.headers['location']],
          ['no-store', `/registry/proposals/${opened.proposal_id}`],
        )
      }
      assert.equal((asJson.json() as Opened).payload_b3, (asCbor.json() as Opened).payload_b3)
    })

    test('a proposal is refused for its form, before it is anybody’s concern', async () => {
      const good = { payload: { items: [named('form@1', 'x')] } }
      const bad: readonly [string, Asking, number, string][] = [
        ['no length', { body: good, headers: { 'content-length': '' } }, 411, 'LengthRequired'],
        ['another type', { body: JSON.stringify(good), headers: { 'content-type': 'text/plain' } }, 415, 'Malformed'],
        ['no JSON', { body: '{', headers: JSON_HEADERS }, 400, 'Malformed'],
        [
          'a key twice',
          { body: '{"payload":{"items":[]},"payload":{"items":[]}}', headers: JSON_HEADERS },
          400,
          'Malformed',
        ],
        ['a fraction', { body: '{"payload":{"items":[],"note":1.5}}', headers: JSON_HEADERS }, 400, 'Malformed'],
        ['an unknown field', { body: { ...good, quorum: 1 } }, 400, 'Malformed'],
        ['no items', { body: { payload: { items: [] } } }, 400, 'Malformed'],
        ['a bad name', { body: { payload: { items: [{ ...named('x@1', 'x'), id: 'X' }] } } }, 400, 'Malformed'],
        ['another hash', { body: { ...good, payload_b3: address('other') } }, 400, 'Malformed'],
        [
          'loose CBOR',
          { body: Buffer.from('bf61610161620aff', 'hex'), headers: { 'content-type': 'application/cbor' } },
          400,
          'Malformed',
        ],
        ['2 MiB', { body: Buffer.alloc(2 * 1024 * 1024), headers: JSON_HEADERS }, 413, 'HardLimitExceeded'],
        [
          'a bomb',
          { body: gzipSync(Buffer.alloc(1024 * 1024, ' ')), headers: { ...JSON_HEADERS, 'content-encoding': 'gzip' } },
          413,
          'HardLimitExceeded',
        ],
      ]
      for (const [what, asking, status, code] of bad) {
        const answer = await ask('POST', '/registry/proposals', asking)
        assert.equal(`${answer.status} ${answer.code}`, `${status} ${code}`, what)
      }
    })

    test('writes need their own scope, reads need none', async () => {
      const { proposal_id: id } = await quorumClient.propose([named('scope@1', 'x')])
      const writes: readonly [
        string,
        'registry:propose' | 'registry:approve' | 'registry:commit' | 'registry:anchor' | 'registry:admin',
      ][] = [
        ['/registry/proposals', 'registry:propose'],
        [`/registry/approvals/${id}`, 'registry:approve'],
        [`/registry/commit/${id}`, 'registry:commit'],
        ['/log/audit-heads', 'registry:anchor'],
        ['/admin/verify', 'registry:admin'],
      ]
      for (const [path, scope] of writes) {
        assert.equal((await ask('POST', path, { token: null })).status, 401, path)
        const other = writes.map(([, each]) => each).filter((each) => each !== scope)
        assert.equal((await ask('POST', path, { token: tokenFor(other) })).status, 403, path)
        const allowed = await ask('POST', path, { token: tokenFor([scope]) })
        assert.ok(allowed.status !== 401 && allowed.status !== 403, `${path} ${allowed.status}`)
      }
      for (const path of ['/registry/head', '/registry/0', '/registry/proposals', '/log/checkpoint', '/registry/trust'])
        assert.equal((await ask('GET', path, { token: null })).status, 200, path)
      assert.equal((await ask('GET', '/events', { token: null })).status, 401)
    })

    test('GET /registry/head and /registry/{version} have tags; versions never change', async () => {
      const facts = await quorumClient.publish([named('tags@1', 'x')], [ALICE])
      const head = await ask('GET', '/registry/head', { token: null })
      assert.equal(head.fields()['version'], facts.version)
      assert.equal(head.headers['cache-control'], 'public, no-cache')
      const fresh = await ask('GET', '/registry/head', { headers: { 'if-none-match': head.headers['etag']! } })
      assert.deepEqual([fresh.status, fresh.body.length], [304, 0])
      const version = await ask('GET', `/registry/${facts.version}`, { token: null })
      assert.deepEqual([version.headers['etag'], version.headers['cache-control']], [`"${facts.hash}"`, IMMUTABLE])
      assert.equal(artifactHash(parseArtifact(parseJson(version.body))), facts.hash)
      assert.equal((await ask('GET', `/registry/${facts.version}`, { headers: { 'if-none-match': '*' } })).status, 304)
      assert.equal((await ask('HEAD', '/registry/0')).status, 200)
      isProblem(await ask('GET', '/registry/99999'), 404, 'NotFound')
      for (const odd of ['01', '-1', '1.0', 'x', '99999999999999999999'])
        isProblem(await ask('GET', `/registry/${odd}`), 400, 'Malformed')
    })

    test('GET /registry/names/{name} says what a name means, and meant', async () => {
      const first = named('moves@1', 'one')
      const before = await quorumClient.publish([first], [ALICE])
      const second = named('moves@1', 'two', itemHash(first))
      const moved = await quorumClient.publish([second], [BOB])
      const gone = { kind: 'name', id: 'moves@1', prev: itemHash(second), deleted: true } as const
      const now = await ask('GET', '/registry/names/moves@1', { token: null })
      assert.deepEqual(now.json(), { name: 'moves@1', version: moved.version, item: second })
      assert.equal(now.headers['etag'], `"${itemHash(second)}"`)
      const removed = await quorumClient.publish([gone], [ALICE])
      isProblem(await ask('GET', '/registry/names/moves@1'), 404, 'NotFound')
      const at = async (version: number): Promise<Answer> => await ask('GET', `/registry/names/moves@1?at=${version}`)
      assert.deepEqual((await at(before.version)).json(), { name: 'moves@1', version: before.version, item: first })
      assert.deepEqual((await at(removed.version - 1)).json(), {
        name: 'moves@1',
        version: moved.version,
        item: second,
      })
      const all = [removed.version, moved.version, before.version]
      const history = async (query: string): Promise<unknown> =>
        (await ask('GET', `/registry/names/moves@1/history${query}`, { token: null })).json()
      assert.deepEqual(await history(''), { name: 'moves@1', versions: all })
      assert.deepEqual(await history(`?before=${removed.version}&limit=1`), { name: 'moves@1', versions: [all[1]] })
      assert.deepEqual(await history(`?before=${before.version}`), { name: 'moves@1', versions: [] })
      isProblem(await ask('GET', '/registry/names/moves@1/history?limit=1001'), 400, 'Malformed')
      isProblem(await at(before.version - 1), 404, 'NotFound')
      isProblem(await at(removed.version), 404, 'NotFound')
      isProblem(await at(removed.version + 1), 404, 'NotFound')
      isProblem(await ask('GET', '/registry/names/NotAName'), 400, 'Malformed')
      const proof = await ask('GET', '/registry/proof/name/moves@1')
      assert.equal(proof.fields()['item'], null, 'that it means nothing is proved as well')
    })

    test('GET /registry/proposals pages through what is open, and shows one whole', async () => {
      const opened: Opened[] = []
      for (let at = 0; at < 5; at += 1) opened.push(await quorumClient.propose([named(`page-${at}@1`, 'x')]))
      await quorumClient.approve(opened[0]!, ALICE)
      interface Page {
        readonly proposals: readonly { readonly proposal_id: string; readonly quorum: { approved: string[] } }[]
        readonly cursor: number | null
      }
      const ids: string[] = []
      let cursor: number | null = opened[0]!.log_index - 1
      while (cursor !== null) {
        const page = (await ask('GET', `/registry/proposals?limit=2&after=${cursor}`, { token: null })).json() as Page
        ids.push(...page.proposals.map(({ proposal_id: id }) => id))
        cursor = page.cursor
      }
      assert.deepEqual(
        ids,
        opened.map(({ proposal_id: id }) => id),
        'in the order they came, approved or not',
      )
      const shown = (await ask('GET', `/registry/proposals/${ids[0]!}`, { token: null })).fields()
      assert.deepEqual([shown['status'], shown['signing_input']], ['open', opened[0]!.signing_input])
      assert.deepEqual((shown['quorum'] as { approved: string[] }).approved, [ALICE.id])
      const done = (await quorumClient.commit(opened[0]!)).json() as VersionSummary
      const after = (await ask('GET', `/registry/proposals/${ids[0]!}`)).fields()
      assert.deepEqual([after['status'], after['version']], ['committed', done.version])
      isProblem(await ask('GET', '/registry/proposals?limit=0'), 400, 'Malformed')
    })

    test('GET /registry/trust is a trust file of this log', async () => {
      const trust = parseTrust((await ask('GET', '/registry/trust', { token: null })).body)
      assert.deepEqual(
        [trust.origin, trust.genesis],
        [service.parts.signer.identity.origin, service.parts.signer.identity.genesis],
      )
    })

    test('a payload that does not fit into an entry is refused where there is no storage', async () => {
      const items = Array.from({ length: 600 }, (_, at) => named(`large-${at}@1`, `${at}`))
      const answer = await ask('POST', '/registry/proposals', { body: { payload: { items } } })
      isProblem(answer, 413, 'HardLimitExceeded')
      assert.match(String(answer.fields()['detail']), /no storage is configured/)
    })

    test('what is not there is 404, and other methods are 405', async () => {
      isProblem(await ask('GET', '/registry'), 404, 'NotFound')
      isProblem(await ask('GET', '/log/tile/0/000.p/999'), 404, 'NotFound')
      const other = await ask('DELETE', '/registry/head')
      assert.deepEqual([other.status, other.headers['allow']], [405, 'GET, HEAD'])
    })

    test('/readyz says whether writes are taken, and where HEAD is', async () => {
      const ready = (await ask('GET', '/readyz', { token: null })).fields()
      const { version, hash } = service.parts.published.value.head
      assert.deepEqual(
        [ready['ready'], ready['write_ready'], ready['version'], ready['head_b3'], ready['missing']],
        [true, true, version, hash, []],
      )
    })
  })
}
