import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError, Deadline } from '@cairn/kernel'
import { cidFromAddress, toBase64url } from '@cairn/wire'
import { type Answer, DelegatedEndpoint } from '../test/delegated-endpoint.ts'
import { addressNamed, Peer } from '../test/peer.ts'
import {
  delegatedJson,
  delegatedLines,
  delegatedPath,
  filterList,
  NDJSON,
  readDelegated,
  wantsNdjson,
} from './delegated-routing.ts'
import { HttpRouting } from './http-routing.ts'
import { multiaddrFromUrl, urlFromMultiaddr } from './multiaddr-url.ts'
import type { Provider } from './provider-routing.ts'
import { providerOf } from './record-gate.ts'

const HELD = addressNamed('held')
const HOLDER = new Peer({ number: 1, url: 'https://storage.example.org' })
const RECORD = HOLDER.hold(HELD)
const PROVIDER = providerOf(RECORD, HOLDER.runtime.clock.wall())
const UNSIGNED: Provider = { id: 'QmUnsigned1', http: ['https://other.example.org'], seenAtMs: 0 }

async function read(contentType: string | undefined, ...pieces: readonly string[]) {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield await Promise.resolve(new TextEncoder().encode(piece))
  }
  return await Array.fromAsync(readDelegated(body(), contentType))
}

const isBadAnswer = (error: unknown): boolean => error instanceof CairnError && error.code === 'bad_answer'

describe('the codec of Delegated Routing v1', () => {
  test('asks for the CID of the address', () => {
    assert.equal(delegatedPath(HELD), `routing/v1/providers/${cidFromAddress(HELD)}`)
  })

  test('reads back what it writes, as JSON and line by line', async () => {
    const known = [
      { id: PROVIDER.id, http: ['https://storage.example.org'], record: RECORD.bytes },
      { id: 'QmUnsigned1', http: ['https://other.example.org'] },
    ]
    assert.deepEqual(await read('application/json', JSON.stringify(delegatedJson([PROVIDER, UNSIGNED]))), known)
    const text = delegatedLines([PROVIDER, UNSIGNED])
    const pieces = text.match(/[^]{1,97}/g) ?? []
    assert.deepEqual(await read(`${NDJSON}; charset=utf-8`, ...pieces), known)
  })

  test('writes what stock clients read', () => {
    assert.deepEqual(delegatedJson([UNSIGNED]), {
      Providers: [
        {
          Schema: 'peer',
          ID: 'QmUnsigned1',
          Addrs: ['/dns/other.example.org/tcp/443/https'],
          Protocols: [],
        },
      ],
    })
  })

  test('names only the protocol that is spoken at the address: the record', () => {
    const { Providers: peers } = delegatedJson([PROVIDER]) as { readonly Providers: readonly unknown[] }
    assert.deepEqual(peers[0], {
      Schema: 'peer',
      ID: PROVIDER.id,
      Addrs: ['/dns/storage.example.org/tcp/443/https'],
      Protocols: ['cairn-provider'],
      'cairn-provider': toBase64url(RECORD.bytes),
    })
  })

  const plain: Provider = { id: 'QmPlain0001', http: ['http://198.45.7.3:8080'], seenAtMs: 0 }
  const nowhere: Provider = { id: 'QmNowhere01', http: [], seenAtMs: 0 }
  for (const { protocols, addrs, ids } of [
    { ids: [PROVIDER.id, 'QmPlain0001', 'QmNowhere01'] },
    { protocols: 'cairn-provider', ids: [PROVIDER.id] },
    { protocols: 'transport-bitswap,unknown', ids: ['QmPlain0001', 'QmNowhere01'] },
    { protocols: 'transport-bitswap', ids: [] },
    { protocols: 'Cairn-Provider,UNKNOWN', ids: [PROVIDER.id, 'QmPlain0001', 'QmNowhere01'] },
    { addrs: 'https', ids: [PROVIDER.id] },
    { addrs: 'tcp', ids: [PROVIDER.id, 'QmPlain0001'] },
    { addrs: 'tcp,!ip4,unknown', ids: [PROVIDER.id, 'QmNowhere01'] },
    { addrs: '!https', ids: ['QmPlain0001'] },
    { addrs: ',', ids: [PROVIDER.id, 'QmPlain0001', 'QmNowhere01'] },
  ] as readonly { protocols?: string; addrs?: string; ids: readonly string[] }[])
    test(`filter-protocols=${protocols ?? ''}, filter-addrs=${addrs ?? ''}: ${ids.length} of three`, async () => {
      const filters = { protocols: filterList(protocols), addrs: filterList(addrs) }
      const text = delegatedLines([PROVIDER, plain, nowhere], filters)
      assert.deepEqual(
        (await read(NDJSON, text)).map(({ id }) => id),
        ids,
      )
      assert.equal(
        JSON.stringify(delegatedJson([PROVIDER, plain, nowhere], filters)).split('"Schema"').length - 1,
        ids.length,
      )
    })

  test('leaves out other schemas and nonsense, and reads an empty answer of any kind', async () => {
    const peers = [
      { Schema: 'bitswap', ID: 'QmSomebody' },
      { Schema: 'peer', ID: '../etc' },
      7,
      null,
      [],
      { Schema: 'peer' },
    ]
    assert.deepEqual(await read('application/json', JSON.stringify({ Providers: peers })), [])
    assert.deepEqual(await read('application/json', '{"Providers":null}'), [])
    assert.deepEqual(await read('application/json', '{}'), [])
    assert.deepEqual(await read(NDJSON, '\n\n'), [])
  })

  test('refuses what is no such answer, and what is too much of one', async () => {
    await assert.rejects(read('text/html', '<html>'), isBadAnswer)
    await assert.rejects(read(undefined, '{}'), isBadAnswer)
    await assert.rejects(read('application/json', '{"Providers":'), isBadAnswer)
    await assert.rejects(read('application/json', '{"Providers":7}'), isBadAnswer)
    await assert.rejects(read(NDJSON, '{"Schema":"peer"\n'), isBadAnswer)
    await assert.rejects(read(NDJSON, ' '.repeat(60_000)), isBadAnswer)
    await assert.rejects(read('application/json', ...Array.from({ length: 17 }, () => ' '.repeat(65_536))), isBadAnswer)
    assert.equal((await read(NDJSON, delegatedLines([UNSIGNED]).repeat(500))).length, 128)
  })

  test('streams to whoever would rather have lines', () => {
    assert.equal(wantsNdjson('application/x-ndjson, application/json;q=0.8'), true)
    assert.equal(wantsNdjson('application/x-ndjson'), true)
    for (const accept of [undefined, '*/*', 'application/json', 'application/json, application/x-ndjson;q=0.5']) {
      assert.equal(wantsNdjson(accept), false)
    }
  })
})

test('base URLs and multiaddrs stand for each other', () => {
  const pairs = [
    ['https://a.example', '/dns/a.example/tcp/443/https'],
    ['http://a.example:8080', '/dns/a.example/tcp/8080/http'],
    ['http://198.45.7.3', '/ip4/198.45.7.3/tcp/80/http'],
    ['https://[2606:4700::1111]:8443', '/ip6/2606:4700::1111/tcp/8443/https'],
  ] as const
  for (const [url, address] of pairs) {
    assert.equal(multiaddrFromUrl(url), address)
    assert.equal(urlFromMultiaddr(address), url)
  }
  assert.equal(urlFromMultiaddr('/dns4/a.example/tcp/443/tls/http'), 'https://a.example')
  assert.equal(multiaddrFromUrl('https://a.example/base'), undefined)
  for (const text of [
    '',
    '/ip4/1.2.3.4/tcp/4001',
    '/dns/a b/tcp/1/http',
    '/ip4/1.2.3.4/tcp/99999/http',
    '/ip4//tcp/1/http',
  ]) {
    assert.equal(urlFromMultiaddr(text), undefined, text)
  }
})

test('endpoints are taken in rotation, however many there are', () => {
  const asker = new Peer({ number: 2, reach: {} })
  const endpoints = [1, 2, 3].map((at) => new URL(`https://index-${at}.example.org/`))
  const routing = new HttpRouting(asker.runtime, {
    transport: new DelegatedEndpoint(() => ({ status: 404 })),
    endpoints: () => endpoints,
    gate: asker.gate,
    reach: () => asker.reach,
  })
  const asked = Array.from({ length: 4 }, () =>
    routing.legs(HELD, 2).map(({ target }) => target.at(-'.example.org/'.length - 1)),
  )
  assert.deepEqual(asked, [
    ['1', '2'],
    ['2', '3'],
    ['3', '1'],
    ['1', '2'],
  ])
  const sources = routing.legs(HELD, 3).map(({ knowledge }) => knowledge)
  assert.equal(new Set(sources).size, 3)
})

describe('asking an endpoint', () => {
  const setup = (answer: Answer) => {
    const asker = new Peer({ number: 2, reach: {} })
    const transport = new DelegatedEndpoint(() => answer)
    const { clock } = asker.runtime
    const endpoints = (): URL[] => [new URL('https://index.example/base/')]
    const routing = new HttpRouting(asker.runtime, { transport, endpoints, gate: asker.gate, reach: () => asker.reach })
    const found: Provider[] = []
    const find = async (): Promise<void> => {
      const [leg] = routing.legs(HELD, 3)
      const options = { deadline: Deadline.after(clock, 1000), signal: new AbortController().signal }
      await leg?.find(HELD, { ...options, onProvider: (provider) => found.push(provider) })
    }
    return { asker, transport, found, find }
  }

  test('goes below the base, with both media types and the budget that is left', async () => {
    const { transport, find } = setup({ status: 404 })
    await find()
    const [request] = transport.asked
    assert.equal(request?.url.href, `https://index.example/base/${delegatedPath(HELD)}`)
    assert.match(request.headers['accept'] ?? '', /x-ndjson.*json/)
    assert.match(request.headers['request-timeout'] ?? '', /^9\d\dms$/)
    assert.equal(transport.open, 0)
  })

  test('takes a verified record, and passes on the unsigned as unverified', async () => {
    const { asker, found, find } = setup({ body: [JSON.stringify(delegatedJson([PROVIDER, UNSIGNED]))] })
    await find()
    assert.deepEqual(found[0]?.record, RECORD)
    assert.deepEqual({ ...found[1], seenAtMs: 0 }, UNSIGNED)
    assert.equal(asker.metrics.refused('accepted'), 1)
  })

  test('drops a record that is forged, of another publisher or no record, and counts it', async () => {
    const forged = RECORD.bytes.slice()
    // Another host, under the signature for ours.
    forged[Buffer.from(forged).indexOf('storage') + 1] = 0x75
    const lines = [
      delegatedLines([{ ...PROVIDER, record: { ...RECORD, bytes: forged } }]),
      delegatedLines([{ ...PROVIDER, id: 'QmSomebodyElse' }]),
      delegatedLines([PROVIDER]).replace(/"cairn-provider":"[^"]*"/, '"cairn-provider":"=="'),
    ]
    const { asker, found, find } = setup({ contentType: NDJSON, body: lines })
    await find()
    assert.deepEqual(found, [])
    assert.equal(asker.metrics.refused('forged'), 1)
    assert.equal(asker.metrics.refused('other_publisher'), 1)
    assert.equal(asker.metrics.refused('malformed'), 1)
  })

  test('never passes on an address that is not public', async () => {
    const inside = { ...UNSIGNED, http: ['http://127.0.0.1:7071', 'http://169.254.169.254', 'https://fine.example'] }
    const { found, find } = setup({ body: [JSON.stringify(delegatedJson([inside]))] })
    await find()
    assert.deepEqual(
      found.map(({ http }) => http),
      [['https://fine.example']],
    )
  })

  test('fails with what the endpoint says, and lets go of its answer', async () => {
    const problem = JSON.stringify({ code: 'busy', detail: 'Too much.', status: 429 })
    const busy = setup({ status: 429, contentType: 'application/problem+json', body: [problem] })
    await assert.rejects(busy.find(), { kind: 'Busy', code: 'busy' })
    const broken = setup({ contentType: 'text/html', body: ['<p>', '</p>'] })
    await assert.rejects(broken.find(), isBadAnswer)
    assert.equal(busy.transport.open + broken.transport.open, 0)
  })
})
