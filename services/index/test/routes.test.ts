/** Every route, as a client sees it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addressOf, toBase64url } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { outside, resolvesTo, TestNames, TestStorage } from './dependencies.ts'
import { TestService, tokenFor } from './harness.ts'
import { type Behaviour, recordOf, signedProvider, TestNetwork } from './network.ts'

const WALL = 1_700_000_000_000
const CID = addressOf(Buffer.from('an object'))
const OTHER = addressOf(Buffer.from('another object'))
const THIRD = addressOf(Buffer.from('a third object'))

const finds = (...who: readonly number[]): Behaviour => ({
  does: 'find',
  afterMs: 10,
  providers: (cid) =>
    who.map((each) => signedProvider(each, cid, WALL, each === 3 ? { region: 'eu', ageMs: 60_000 } : {})),
})

describe('GET /resolve', () => {
  test('an address means itself, if anybody has it', async () => {
    const service = await TestService.start({ network: new TestNetwork([finds(2, 3)]) })
    const answer = await service.ask('GET', `/resolve/${CID}`, { token: null })
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.json(), {
      key: CID,
      kind: 'cid',
      manifest_cid: CID,
      source: 'dht',
      integrity: { algo: 'blake3', digest: CID.slice(3) },
      etag: CID,
      freshness_s: 0,
      providers_hint: 2,
    })
    assert.equal(answer.headers['etag'], `"${CID}"`)
    assert.equal(answer.headers['cache-control'], 'public, max-age=5')
    await service.sleep(3000)
    const again = await service.ask('GET', `/resolve/${CID}`)
    assert.deepEqual([again.fields()['source'], again.fields()['freshness_s']], ['cache', 3])
    const known = await service.ask('GET', `/resolve/${CID}`, { headers: { 'if-none-match': `"${CID}"` } })
    assert.equal(known.status, 304)
    await service.stop()
  })

  test('what this node holds is found here, and nobody else is asked', async () => {
    const [storage, network] = [new TestStorage(), new TestNetwork([finds(2)])]
    storage.objects.add(CID)
    const service = await TestService.start({ network, storage: storage.client })
    const answer = await service.ask('GET', `/resolve/${CID}`)
    assert.equal(answer.status, 200, answer.body.toString())
    assert.deepEqual([answer.fields()['source'], answer.fields()['providers_hint']], ['db', 1])
    const { providers } = (await service.ask('GET', `/providers/${CID}`)).json() as { providers: { http: string[] }[] }
    assert.deepEqual(providers[0]?.http, ['https://self.example.org'])
    assert.equal(network.asked.length, 0)
    await service.stop()
  })

  test('a storage that does not answer costs its time and nothing else', async () => {
    const storage = new TestStorage()
    storage.isDown = true
    const service = await TestService.start({ network: new TestNetwork([finds(2)]), storage: storage.client })
    assert.equal((await service.ask('GET', `/resolve/${CID}`)).fields()['source'], 'dht')
    await service.stop()
  })

  test('a name comes from the registry, with its proof', async () => {
    const names = new TestNames()
    names.commit('site@1.0', resolvesTo(CID, 7))
    const service = await TestService.start({ names })
    const answer = await service.ask('GET', '/resolve/name:site@1.0')
    assert.deepEqual(answer.json(), {
      key: 'name:site@1.0',
      kind: 'name',
      manifest_cid: CID,
      source: 'registry',
      integrity: { algo: 'blake3', digest: CID.slice(3) },
      etag: CID,
      freshness_s: 1,
      providers_hint: 0,
      proof: 'proof of version 7',
    })
    assert.equal((await service.ask('GET', '/resolve/name%3Asite%401.0')).fields()['source'], 'cache')
    assert.equal(names.asked, 1)
    await service.stop()
    assert.ok(names.isClosed)
  })

  test('a commit is seen by the next question: neither an old meaning nor an old absence is used after it', async () => {
    const names = new TestNames()
    const service = await TestService.start({ names })
    isProblem(await service.ask('GET', '/resolve/name:site@1.0'), 404, 'not_found')
    names.commit('site@1.0', resolvesTo(CID))
    assert.equal((await service.ask('GET', '/resolve/name:site@1.0')).fields()['manifest_cid'], CID)
    names.commit('site@1.0', resolvesTo(OTHER, 2))
    assert.equal((await service.ask('GET', '/resolve/name:site@1.0')).fields()['manifest_cid'], OTHER)
    await service.stop()
  })

  test('a registry that cannot be asked is 503, and is asked again', async () => {
    const names = new TestNames()
    names.commit('site@1.0', { tag: 'unready', detail: 'The registry was not asked yet.' })
    const service = await TestService.start({ names })
    for (let time = 1; time <= 2; time += 1)
      isProblem(await service.ask('GET', '/resolve/name:site@1.0'), 503, 'upstream_unready')
    assert.equal(names.asked, 2)
    await service.stop()
  })

  test('what is no key is 400 and says why; unknown parameters are ignored', async () => {
    const service = await TestService.start({ network: new TestNetwork([finds(2)]) })
    for (const key of ['site@1.0', 'b3:xyz', 'name:UPPER', `b3:${'A'.repeat(64)}`])
      isProblem(await service.ask('GET', `/resolve/${key}`), 400, 'bad_request')
    isProblem(await service.ask('GET', '/resolve/name:does-not-exist'), 404, 'not_found')
    assert.equal((await service.ask('GET', `/resolve/${CID}?colour=red`)).status, 200)
    await service.stop()
  })
})

describe('GET /providers', () => {
  interface Row {
    readonly id: string
    readonly class: string
    readonly last_seen_s: number
    readonly region?: string
  }

  test('ranked, with age, class and how the lookup went', async () => {
    const service = await TestService.start({ network: new TestNetwork([finds(2, 3)]) })
    const answer = await service.ask('GET', `/providers/${CID}?region=eu`)
    const body = answer.json() as { cid: string; providers: Row[]; hedge: unknown }
    assert.equal(body.cid, CID)
    assert.deepEqual(
      body.providers.map(({ region, class: each, last_seen_s: seen }) => [region, each, seen]),
      [
        ['eu', 'region_match', 60],
        [undefined, 'fresh', 0],
      ],
    )
    assert.deepEqual(body.hedge, { alpha_ms: 10, winner: 'alpha' })
    await service.stop()
  })

  test('the tag of a set does not change with its age, and 304 follows from it', async () => {
    const service = await TestService.start({ network: new TestNetwork([finds(2, 3)]) })
    const first = await service.ask('GET', `/providers/${CID}`)
    await service.sleep(2000)
    const second = await service.ask('GET', `/providers/${CID}`)
    assert.notDeepEqual(first.json(), second.json())
    assert.equal(first.headers['etag'], second.headers['etag'])
    const tag = first.headers['etag'] ?? ''
    assert.equal((await service.ask('GET', `/providers/${CID}`, { headers: { 'if-none-match': tag } })).status, 304)
    await service.stop()
  })

  test('limit is kept within 1 and 32; min_freshness leaves the old out', async () => {
    const service = await TestService.start({
      network: new TestNetwork([finds(...Array.from({ length: 40 }, (_, at) => at + 3))]),
    })
    const count = async (query: string): Promise<number> =>
      ((await service.ask('GET', `/providers/${CID}${query}`)).json() as { providers: Row[] }).providers.length
    assert.deepEqual(
      [await count(''), await count('?limit=0'), await count('?limit=1000'), await count('?limit=32&min_freshness=30')],
      [5, 1, 32, 32],
    )
    const { providers } = (await service.ask('GET', `/providers/${CID}?limit=32&min_freshness=59`)).json() as {
      providers: Row[]
    }
    assert.ok(providers.every(({ last_seen_s: seen }) => seen < 60))
    isProblem(await service.ask('GET', `/providers/${CID}?limit=many`), 400, 'bad_request')
    isProblem(await service.ask('GET', '/providers/not-a-cid'), 400, 'bad_request')
    await service.stop()
  })

  test('a provider reported corrupt is left out of this object’s answers, and of no other’s', async () => {
    const service = await TestService.start({ network: new TestNetwork([finds(2)]) })
    const { providers } = (await service.ask('GET', `/providers/${CID}`)).json() as { providers: Row[] }
    const body = { provider: providers[0]?.id, reason: 'corrupt' }
    assert.equal((await service.ask('POST', `/providers/${CID}/report`, { body })).status, 204)
    isProblem(await service.ask('GET', `/providers/${CID}`), 404, 'not_found')
    isProblem(await service.ask('GET', `/resolve/${CID}`), 404, 'not_found')
    assert.equal((await service.ask('GET', `/providers/${OTHER}`)).status, 200)
    assert.equal(service.metric('index_integrity_fail_total', { stage: 'cid' }), 1)
    isProblem(await service.ask('POST', `/providers/${CID}/report`, { body, token: null }), 401, 'token_missing')
    await service.stop()
  })
})

describe('pins', () => {
  test('are durable, kept fresh, announced as changed, and end with unpin', async () => {
    const network = new TestNetwork([finds(2)])
    const service = await TestService.start({ network })
    const events = service.parts.events.subscribe()
    assert.deepEqual((await service.ask('POST', '/admin/pin', { body: { cid: CID } })).json(), { ok: true })
    assert.deepEqual((await service.ask('POST', '/admin/pin', { body: { cid: CID } })).json(), { ok: true })
    const heard: unknown[] = []
    for (let next = events.tryReceive(); next?.tag === 'value'; next = events.tryReceive()) heard.push(next.value)
    const topics = heard.map((event) => (event as { topic: string }).topic)
    assert.deepEqual(topics, ['audit.event', 'index.pin.changed', 'audit.event'])
    events[Symbol.dispose]()
    const again = await service.restart({ network })
    await again.sleep(20_000)
    const asked = network.asked.length
    assert.ok(asked >= 3, `looked up ${asked} times in 20 s`)
    assert.equal((await again.ask('GET', `/resolve/${CID}`)).fields()['source'], 'cache')
    await again.ask('POST', '/admin/unpin', { body: { cid: CID } })
    await again.sleep(20_000)
    assert.ok(network.asked.length <= asked + 2)
    await again.stop()
  })

  test('take a capability for exactly that', async () => {
    const service = await TestService.start()
    isProblem(await service.ask('POST', '/admin/pin', { body: { cid: CID }, token: null }), 401, 'token_missing')
    const token = tokenFor(['index:read'])
    isProblem(await service.ask('POST', '/admin/pin', { body: { cid: CID }, token }), 403, 'scope_missing')
    assert.equal(
      (await service.ask('POST', '/admin/pin', { body: { cid: CID }, token: tokenFor(['index:pin']) })).status,
      200,
    )
    isProblem(await service.ask('POST', '/admin/pin', { body: { cid: CID, more: 1 } }), 400, 'bad_request')
    await service.stop()
  })

  test('a damaged file of overrides keeps the service from starting, and says what to do', async () => {
    const files = { 'data/index/book.json': Buffer.from('{"v":1,"pins":["b3:no"],"names":{}}') }
    await assert.rejects(TestService.start({ files }), /\.json is damaged; restore it/)
  })
})

describe('local names', () => {
  test('a local name means what it was given last, from the next question on', async () => {
    const service = await TestService.start()
    const meant = async (): Promise<unknown> =>
      (await service.ask('GET', '/resolve/name:site@1.0')).fields()['manifest_cid']
    isProblem(await service.ask('GET', '/resolve/name:site@1.0'), 404, 'not_found')
    for (const cid of [CID, addressOf(Buffer.from('another'))]) {
      await service.ask('PUT', '/admin/names/site@1.0', { body: { manifest_cid: cid } })
      assert.deepEqual([await meant(), await meant()], [cid, cid])
    }
    await service.ask('DELETE', '/admin/names/site@1.0')
    isProblem(await service.ask('GET', '/resolve/name:site@1.0'), 404, 'not_found')
    await service.stop()
  })

  test('mean something where no registry speaks, across a restart', async () => {
    const service = await TestService.start()
    const body = { manifest_cid: CID }
    assert.equal((await service.ask('PUT', '/admin/names/site@1.0', { body })).status, 200)
    const again = await service.restart()
    const answer = await again.ask('GET', '/resolve/name:site@1.0')
    assert.deepEqual([answer.fields()['manifest_cid'], answer.fields()['source']], [CID, 'db'])
    assert.equal((await again.ask('DELETE', '/admin/names/site@1.0')).status, 204)
    isProblem(await again.ask('DELETE', '/admin/names/site@1.0'), 404, 'not_found')
    isProblem(await again.ask('GET', '/resolve/name:site@1.0'), 404, 'not_found')
    isProblem(await again.ask('PUT', '/admin/names/bad', { body }), 400, 'bad_request')
    await again.stop()
  })

  test('are refused while a registry speaks', async () => {
    const service = await TestService.start({ names: new TestNames() })
    const answer = await service.ask('PUT', '/admin/names/site@1.0', { body: { manifest_cid: CID } })
    isProblem(answer, 409, 'registry_configured')
    await service.stop()
  })
})

describe('POST /admin/reindex', () => {
  test('looks the keys up again; the same request with the same key is done once', async () => {
    const network = new TestNetwork([finds(2)])
    const service = await TestService.start({ network })
    await service.ask('GET', `/resolve/${CID}`)
    const asking = { body: { keys: [CID, 'name:nobody@1'] }, headers: { 'idempotency-key': 'one' } }
    const first = await service.ask('POST', '/admin/reindex', asking)
    assert.equal(first.status, 202, first.body.toString())
    await service.sleep(1000)
    assert.deepEqual((await service.ask('POST', '/admin/reindex', asking)).json(), first.json())
    await service.sleep(1000)
    assert.equal(network.asked.length, 2)
    assert.equal(service.metric('index_reindex_total', { result: 'found' }), 1)
    assert.equal(service.metric('index_reindex_total', { result: 'absent' }), 1)
    const other = await service.ask('POST', '/admin/reindex', { ...asking, headers: { 'idempotency-key': 'two' } })
    assert.notDeepEqual(other.json(), first.json())
    await service.stop()
  })
})

describe('POST /announce', () => {
  const announce = (...records: readonly Uint8Array[]) => ({ body: { records: records.map(toBase64url) } })

  test('signed records of whoever can be reached are kept, found, and told to the network', async () => {
    const network = new TestNetwork([])
    const asked: string[] = []
    const service = await TestService.start({
      network,
      outside: ({ clock }) =>
        outside(clock, ({ url, method }) => {
          asked.push(`${method} ${url.href}`)
          return url.hostname === 'peer-3.example.org' ? 200 : 404
        }),
    })
    const [good, also, elsewhere] = [recordOf(3, CID, WALL), recordOf(3, OTHER, WALL), recordOf(4, CID, WALL)]
    const answer = await service.ask(
      'POST',
      '/announce',
      announce(good.bytes, elsewhere.bytes, also.bytes, Buffer.from('?')),
    )
    const { accepted, refused } = answer.json() as { accepted: number; refused: { index: number; code: string }[] }
    assert.equal(accepted, 2)
    assert.deepEqual(
      refused.map(({ index, code }) => [index, code]),
      [
        [1, 'unreachable'],
        [3, 'record_malformed'],
      ],
    )
    assert.equal(asked.length, 2, 'one object of each publisher is asked for')
    assert.match(asked[0] ?? '', /^HEAD https:\/\/peer-3\.example\.org\/o\/b3:/)
    const { providers } = (await service.ask('GET', `/providers/${CID}`)).json() as { providers: { id: string }[] }
    assert.deepEqual(
      providers.map(({ id }) => id),
      [good.publisher],
    )
    await service.sleep(1000)
    assert.equal(network.provided.length, 2)
    isProblem(await service.ask('GET', `/resolve/${THIRD}`), 404, 'not_found')
    await service.ask('POST', '/announce', announce(recordOf(3, THIRD, WALL).bytes))
    assert.equal((await service.ask('GET', `/resolve/${THIRD}`)).status, 200, 'a miss that was kept does not hide it')
    isProblem(await service.ask('POST', '/announce', { ...announce(good.bytes), token: null }), 401, 'token_missing')
    await service.stop()
  })

  test('a record that points at a forbidden address is refused, and nobody connects to it', async () => {
    let connections = 0
    const service = await TestService.start({
      outside: ({ clock }) =>
        outside(clock, () => {
          connections += 1
          return 200
        }),
    })
    const targets = [
      'http://127.0.0.1:7071',
      'http://10.0.0.1',
      'http://[::1]/',
      'http://169.254.169.254',
      'https://localhost',
    ]
    const records = targets.map((http) => recordOf(5, CID, WALL, { http: [http] }).bytes)
    const { accepted, refused } = (await service.ask('POST', '/announce', announce(...records))).json() as {
      accepted: number
      refused: { code: string }[]
    }
    assert.deepEqual([accepted, connections], [0, 0])
    assert.deepEqual([...new Set(refused.map(({ code }) => code))], ['record_forbidden_address'])
    await service.stop()
  })
})

describe('what this node announces', () => {
  test('is what storage holds: told once, one after the other, and not after it is gone', async () => {
    const [storage, network] = [new TestStorage(), new TestNetwork([])]
    for (let count = 0; count < 250; count += 1) storage.objects.add(addressOf(Buffer.from(`object ${count}`)))
    const service = await TestService.start({ network, storage: storage.client })
    await service.sleep(30_000)
    assert.equal(network.provided.length, 120, 'at a steady rate')
    await service.sleep(35_000)
    assert.equal(network.provided.length, 250)
    assert.ok(network.provided.every(({ publisher }) => publisher === service.parts.publisher))
    storage.objects.add(CID)
    await service.sleep(61_000)
    assert.equal(network.provided.length, 251)
    storage.objects.delete(CID)
    await service.sleep(61_000)
    assert.deepEqual(network.unprovided, [CID])
    assert.equal(network.provided.length, 251)
    await service.stop()
  })

  test('is what storage takes in, at once: a miss that was kept does not outlive it', async () => {
    const [storage, network] = [new TestStorage(), new TestNetwork([{ does: 'nothing', afterMs: 1 }])]
    const service = await TestService.start({ network, storage: storage.client })
    isProblem(await service.ask('GET', `/resolve/${CID}`), 404, 'not_found')
    const listed = storage.listed
    storage.ingest(CID)
    await service.sleep(20)
    assert.equal((await service.ask('GET', `/resolve/${CID}`)).fields()['source'], 'db')
    assert.deepEqual(
      network.provided.map(({ cid }) => cid),
      [CID],
    )
    assert.equal(storage.listed, listed, 'without looking through everything')
    await service.stop()
  })

  test('is found by looking where the events were cut off, and heard again once storage is back', async () => {
    const [storage, network] = [new TestStorage(), new TestNetwork([])]
    storage.isDown = true
    const service = await TestService.start({ network, storage: storage.client })
    await service.sleep(5000)
    storage.isDown = false
    storage.objects.add(CID)
    await service.sleep(1100)
    assert.equal(network.provided.length, 1, 'whoever begins to listen looks')
    storage.ingest(OTHER, 'gap')
    await service.sleep(300)
    assert.equal(network.provided.length, 2, 'and so does whoever has missed something')
    await service.stop()
  })

  test('is nothing where nobody could fetch it', async () => {
    const [storage, network] = [new TestStorage(), new TestNetwork([])]
    storage.objects.add(CID)
    const selfUrls = () => ['http://127.0.0.1:7071']
    const service = await TestService.start({ network, storage: storage.client, selfUrls })
    await service.sleep(120_000)
    assert.equal(network.provided.length, 0)
    assert.equal((await service.ask('GET', `/resolve/${CID}`)).fields()['source'], 'db')
    await service.stop()
  })
})

test('GET /peers says whom this node knows', async () => {
  const service = await TestService.start({ network: new TestNetwork([]) })
  assert.deepEqual((await service.ask('GET', '/peers')).json(), {
    peers: [{ id: 'peer', addresses: ['/ip4/127.0.0.1/tcp/1'], connected: true }],
  })
  isProblem(await service.ask('GET', '/peers', { token: null }), 401, 'token_missing')
  await service.stop()
})

test('warm-up keys are looked up before anybody asks', async () => {
  const network = new TestNetwork([finds(2)])
  const service = await TestService.start({ network, config: { cache: { warmup_keys: [CID, 'no key'] } } })
  await service.sleep(50)
  assert.equal((await service.ask('GET', `/resolve/${CID}`)).fields()['source'], 'cache')
  await service.stop()
})
