/** Signatures that others have published, and what each request says once it is verified. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { isRefused, isVerified, opened, secret } from './opened.ts'

const body = (text: string): Buffer => Buffer.from(text)
const hex = (key: string, ...parts: readonly string[]): string =>
  createHmac('sha256', key).update(parts.join('')).digest('hex')

describe('GitHub', () => {
  const SECRET = "It's a Secret to Everybody"
  const SIGNATURE = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
  const nowMs = 1_700_000_000_000
  const provider = opened('github', [secret(SECRET)])

  test('the pair of its documentation', () => {
    const headers = [
      ['x-hub-signature-256', SIGNATURE],
      ['x-github-event', 'push'],
      ['x-github-delivery', '72d3162e-cc78-11e3-81ab-4c9367dc0958'],
    ] as const
    const verified = isVerified(provider.verify({ headers, body: body('Hello, World!'), nowMs }))
    assert.equal(verified.event, 'push')
    assert.equal(verified.deliveryId, '72d3162e-cc78-11e3-81ab-4c9367dc0958')
    assert.equal(verified.reply, undefined)
    assert.equal(provider.retries, false, 'GitHub never sends again by itself')
  })

  test('the key of a replay is the body alone, kept 90 days, or until the secret has ended and three days more', () => {
    const headers = [['x-hub-signature-256', SIGNATURE]] as const
    const request = { headers, body: body('Hello, World!'), nowMs }
    const { replay } = isVerified(provider.verify(request))
    assert.equal(replay.key, 'github:b3:288a86a79f20a3d6dccdca7713beaed178798296bdfa7913fa2a62d9727bf8f8')
    assert.equal(replay.keepUntilMs, nowMs + 90 * 86_400_000)
    const ending = opened('github', [secret(SECRET, nowMs + 1000)])
    assert.equal(isVerified(ending.verify(request)).replay.keepUntilMs, nowMs + 1000 + 3 * 86_400_000)
  })

  test('SHA-1 is refused, alone and in the place of SHA-256', () => {
    const sha1 = `sha1=${createHmac('sha1', SECRET).update('Hello, World!').digest('hex')}`
    const verify = (headers: [string, string][]) => provider.verify({ headers, body: body('Hello, World!'), nowMs })
    isRefused(verify([['x-hub-signature', sha1]]), 'UNAUTH')
    isRefused(verify([['x-hub-signature-256', sha1]]), 'MALFORMED')
    isRefused(verify([]), 'UNAUTH')
    isRefused(verify([['x-hub-signature-256', SIGNATURE.toUpperCase()]]), 'MALFORMED')
  })

  test('a ping is answered, but only a body that is one', () => {
    const ping = '{"zen":"Keep it logically awesome.","hook_id":123}'
    const verify = (event: string, text: string) =>
      isVerified(
        provider.verify({
          headers: [
            ['x-hub-signature-256', `sha256=${hex(SECRET, text)}`],
            ['x-github-event', event],
          ],
          body: body(text),
          nowMs,
        }),
      )
    const { reply, event } = verify('ping', ping)
    assert.equal(event, 'ping')
    assert.deepEqual([reply?.status, Buffer.from(reply?.body ?? []).toString()], [200, 'pong'])
    assert.equal(verify('ping', '{"ref":"refs/heads/main"}').reply, undefined, 'a push somebody called a ping')
    assert.equal(verify('push', ping).reply, undefined)
  })
})

describe('Slack', () => {
  const SECRET = '8f742231b10e8888abcd99yyyzzz85a5'
  const TIME = '1531420618'
  const COMMAND =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c'
  const SIGNATURE = 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503'
  const nowMs = 1000 * Number(TIME)
  const provider = opened('slack', [secret(SECRET)])

  const verify = (text: string, time = TIME) =>
    provider.verify({
      headers: [
        ['x-slack-request-timestamp', time],
        ['x-slack-signature', `v0=${hex(SECRET, `v0:${time}:`, text)}`],
      ],
      body: body(text),
      nowMs,
    })

  test('the command of its documentation; a command has no id, so all that is signed is its key', () => {
    const headers = [
      ['x-slack-signature', SIGNATURE],
      ['x-slack-request-timestamp', TIME],
    ] as const
    const verified = isVerified(provider.verify({ headers, body: body(COMMAND), nowMs }))
    assert.equal(verified.event, 'slash_command')
    assert.match(verified.replay.key, /^slack:b3:[0-9a-f]{64}$/)
    const later = isVerified(verify(COMMAND, String(Number(TIME) + 1)))
    assert.notEqual(later.replay.key, verified.replay.key, 'the same command a second later is another')
    isRefused(provider.verify({ headers, body: body(COMMAND), nowMs: nowMs + 300_001 }), 'POLICY_BLOCKED')
    isRefused(provider.verify({ headers, body: body(COMMAND), nowMs: nowMs - 300_001 }), 'POLICY_BLOCKED')
  })

  test('url_verification is answered with its challenge, after verification', () => {
    const text = JSON.stringify({ type: 'url_verification', token: 't', challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd' })
    const { reply } = isVerified(verify(text))
    assert.equal(reply?.contentType, 'text/plain; charset=utf-8')
    assert.equal(Buffer.from(reply.body).toString(), '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd')
    isRefused(
      provider.verify({
        headers: [
          ['x-slack-request-timestamp', TIME],
          ['x-slack-signature', `v0=${'0'.repeat(64)}`],
        ],
        body: body(text),
        nowMs,
      }),
      'UNAUTH',
    )
  })

  test('an event is known by its id, whatever attempt it is, and named by the event inside', () => {
    const text = JSON.stringify({ type: 'event_callback', event_id: 'Ev08MFMKH6', event: { type: 'app_mention' } })
    const first = isVerified(verify(text))
    const second = isVerified(verify(text, String(Number(TIME) + 60)))
    assert.deepEqual([first.event, first.deliveryId], ['app_mention', 'Ev08MFMKH6'])
    assert.equal(first.replay.key, 'slack:id:Ev08MFMKH6')
    assert.equal(second.replay.key, first.replay.key)
    assert.equal(first.replay.keepUntilMs, nowMs + 300_000 + 72 * 3_600_000)
  })

  test('an interaction is named by its type', () => {
    const text = `payload=${encodeURIComponent('{"type":"block_actions","trigger_id":"1"}')}`
    assert.equal(isVerified(verify(text)).event, 'block_actions')
    assert.equal(isVerified(verify('payload=%ff')).event, 'unknown')
  })
})

describe('Stripe', () => {
  const SECRET = 'whsec_test'
  const BODY = '{"id":"evt_1"}'
  const GOOD = 'c89214b5b5da833daed6f0b8c5bb6bd58cea9022bd80ccc78230f3942d632925'
  const WRONG = '0'.repeat(64)
  const nowMs = 1_700_000_000_000
  const provider = opened('stripe', [secret(SECRET)])
  const verify = (header: string) =>
    provider.verify({ headers: [['stripe-signature', header]], body: body(BODY), nowMs })

  test('the scheme by hand; any of several v1 may match, v0 never counts', () => {
    const verified = isVerified(verify(`t=1700000000,v1=${GOOD}`))
    assert.deepEqual([verified.replay.key, verified.event], ['stripe:id:evt_1', 'unknown'])
    isVerified(verify(`t=1700000000,v1=${WRONG},v1=${GOOD},v0=${WRONG}`))
    isRefused(verify(`t=1700000000,v0=${GOOD}`), 'UNAUTH')
    isRefused(verify(`t=1700000000,v1=${WRONG}`), 'UNAUTH')
  })

  test('a header that can be read in two ways is refused', () => {
    const odd = [
      `t=1700000000,t=1700000001,v1=${GOOD}`,
      `v1=${GOOD}`,
      `t=01700000000,v1=${GOOD}`,
      `t=+1700000000,v1=${GOOD}`,
      `t=1700000000,v1=${GOOD.toUpperCase()}`,
      `t=1700000000,v1=${GOOD.slice(1)}`,
      `t=1700000000,v1=${GOOD},v1=`,
      `t=1700000000,,v1=${GOOD}`,
      `t=1700000000,v1=${GOOD},`,
      `t=1700000000,${Array.from({ length: 17 }, () => `v1=${GOOD}`).join(',')}`,
      '',
    ]
    for (const header of odd) isRefused(verify(header), 'MALFORMED', header)
  })
})

describe('Standard Webhooks', () => {
  const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
  const TIME = '1614265330'
  const BODY = '{"test": 2432232314}'
  const nowMs = 1000 * Number(TIME)
  const V1 = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
  const V1A = 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=='
  const SYMMETRIC = secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const PUBLIC = secret('whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=')

  const verifyBy = (secrets: (typeof PUBLIC)[], signature: string, id = ID) =>
    opened('standard', secrets).verify({
      headers: [
        ['webhook-id', id],
        ['webhook-timestamp', TIME],
        ['webhook-signature', signature],
      ],
      body: body(BODY),
      nowMs,
    })

  test('the vector of its libraries (v1) and the signature of its specification (v1a), each by its own kind of key', () => {
    assert.equal(isVerified(verifyBy([SYMMETRIC], V1)).replay.key, `standard:id:${ID}`)
    assert.equal(isVerified(verifyBy([PUBLIC], V1A)).secretId, PUBLIC.id)
    isVerified(verifyBy([PUBLIC, SYMMETRIC], `${V1A} ${V1}`))
    isVerified(verifyBy([SYMMETRIC], `v1,${Buffer.alloc(32).toString('base64')} v2,new ${V1}`))
    isRefused(verifyBy([SYMMETRIC], V1A), 'UNAUTH', 'an HMAC secret judges no v1a')
    isRefused(verifyBy([PUBLIC], V1), 'UNAUTH')
    isRefused(verifyBy([PUBLIC], V1A.replace('v1a,', 'v1,')), 'MALFORMED')
  })

  test('an id with a full stop, or a signature that is not of its one form, is refused', () => {
    isRefused(verifyBy([SYMMETRIC], V1, 'msg.1614265330'), 'MALFORMED')
    isRefused(verifyBy([SYMMETRIC], V1, 'x'.repeat(201)), 'MALFORMED')
    for (const odd of ['', 'v1', `v1,${V1}`, `${V1} `, V1.slice(0, -1), V1.replace('OE=', 'OF='), `${V1} v1,AAAA`]) {
      isRefused(verifyBy([SYMMETRIC], odd), 'MALFORMED', odd)
    }
    isRefused(verifyBy([SYMMETRIC], Array.from({ length: 17 }, () => V1).join(' ')), 'MALFORMED')
  })
})

test('Ed25519 through the generic provider, by the vectors of Wycheproof', (t) => {
  const file = new URL('../../../../verify/vectors/wycheproof/ed25519_test.json', import.meta.url)
  interface Group {
    readonly publicKey: { readonly pk: string }
    readonly tests: readonly { tcId: number; msg: string; sig: string; result: 'valid' | 'invalid' }[]
  }
  const { testGroups } = JSON.parse(readFileSync(file, 'utf8')) as { testGroups: Group[] }
  let count = 0
  for (const { publicKey, tests } of testGroups) {
    const key = secret(Buffer.from(publicKey.pk, 'hex').toString('base64'))
    const provider = opened('generic', [key], { generic: { algorithm: 'ed25519', encoding: 'base64' } })
    for (const { tcId, msg, sig, result } of tests) {
      const headers = [['x-signature', Buffer.from(sig, 'hex').toString('base64')]] as const
      const { tag } = provider.verify({ headers, body: Buffer.from(msg, 'hex'), nowMs: 0 })
      assert.equal(tag === 'verified', result === 'valid', `case ${tcId}`)
      count += 1
    }
  }
  assert.ok(count >= 100)
  t.diagnostic(`${count} vectors`)
})
