import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as zlib from 'node:zlib'
import { VirtualClock } from '@cairn/kernel/testing'
import { type Caveat, createKeyring, deriveKeyring, mintToken, type Scope } from '@cairn/wire'
import { type IngressRequest, json } from '../response/message.ts'
import { bodyOf, type Fixture, fixture, HELLO } from '../test/fixture.ts'
import { HOST } from '../test/routes.ts'
import { capabilityAuthorizer } from './authorizer.ts'
import { route } from './route.ts'

describe('capabilities', () => {
  const root = createKeyring('root', new Uint8Array(32).fill(7))
  const ring = deriveKeyring(root, 'storage')
  const address = `b3:${'ab'.repeat(32)}` as const

  function secured(): Fixture {
    const put = route({
      method: 'PUT',
      path: '/o/:address',
      lane: 'inline',
      summary: 'Stores.',
      scope: 'storage:write',
      body: 'bytes',
      responses: { 201: { description: 'Stored.' } },
      handler: ({ token }) => json(201, { tid: token?.tid }),
    })
    const verifier = { keyring: ring, isRevoked: () => false }
    const authorizer = capabilityAuthorizer(new VirtualClock(), () => verifier)
    return fixture({ routes: [put, HELLO], authorizer, config: { trusted_proxies: ['10.0.0.0/8'] } })
  }

  const mint = (scopes: readonly Scope[], caveats: readonly Caveat[] = []): string =>
    mintToken(ring, { tid: new Uint8Array(16).fill(1), aud: 'storage', scopes, caveats })

  const store = (token: string, over: Partial<IngressRequest> = {}, ...headers: string[]): Partial<IngressRequest> => ({
    method: 'PUT',
    target: `/o/${address}`,
    headers: [...HOST, 'Authorization', `Bearer ${token}`, ...headers],
    body: bodyOf('hello'),
    ...over,
  })

  for (const [name, request, status, code] of [
    ['a good one lets in', store(mint(['storage:write'])), 201, undefined],
    ['none is 401', { ...store(''), headers: HOST }, 401, 'token_missing'],
    ['nonsense is 401', store('nonsense'), 401, 'token_malformed'],
    ['another scope is 403', store(mint(['storage:admin'])), 403, 'scope_missing'],
    ['an expired one is 401', store(mint(['storage:write'], [{ kind: 'exp', at: 1 }])), 401, 'token_expired'],
    ['the right address', store(mint(['storage:write'], [{ kind: 'address', address }])), 201, undefined],
    [
      'another address',
      store(mint(['storage:write'], [{ kind: 'address', address }]), { target: `/o/b3:${'cd'.repeat(32)}` }),
      403,
      'caveat_address',
    ],
    ['a body within bytes_le', store(mint(['storage:write'], [{ kind: 'bytes_le', bytes: 5 }])), 201, undefined],
    ['a body above bytes_le', store(mint(['storage:write'], [{ kind: 'bytes_le', bytes: 4 }])), 403, 'caveat_bytes'],
    [
      'a body that decodes above bytes_le',
      store(
        mint(['storage:write'], [{ kind: 'bytes_le', bytes: 40 }]),
        { body: bodyOf(zlib.gzipSync('a'.repeat(41))) },
        'Content-Encoding',
        'gzip',
      ),
      403,
      'caveat_bytes',
    ],
    ['the right peer', store(mint(['storage:write'], [{ kind: 'ip_cidr', block: '127.0.0.0/8' }])), 201, undefined],
    ['another peer', store(mint(['storage:write'], [{ kind: 'ip_cidr', block: '192.0.2.0/24' }])), 403, 'caveat_ip'],
    [
      'a peer that claims to be another',
      store(mint(['storage:write'], [{ kind: 'ip_cidr', block: '192.0.2.0/24' }]), {}, 'X-Forwarded-For', '192.0.2.1'),
      403,
      'caveat_ip',
    ],
    [
      'a peer a trusted proxy vouches for',
      store(
        mint(['storage:write'], [{ kind: 'ip_cidr', block: '192.0.2.0/24' }]),
        { peer: { address: '10.0.0.1', kind: 'tcp' } },
        'X-Forwarded-For',
        '203.0.113.9, 192.0.2.1, 10.0.0.2',
      ),
      201,
      undefined,
    ],
  ] as const) {
    test(`${name}: ${status}`, async () => {
      const answer = await secured().call(request)
      assert.equal(answer.status, status, answer.text)
      assert.equal(status === 201 ? undefined : answer.json()['code'], code)
    })
  }

  test('a refusal comes before the body is touched', async () => {
    let isRead = false
    const body = (async function* () {
      isRead = true
      yield new Uint8Array(1)
    })()
    const answer = await secured().call({ ...store('nonsense'), body })
    assert.deepEqual([answer.status, isRead], [401, false])
  })
})
