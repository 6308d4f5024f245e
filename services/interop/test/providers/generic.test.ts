/** The provider that is what its configuration says. */
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import type { z } from 'zod'
import { providersSection } from '../../src/providers/config.ts'
import { isRefused, isVerified, opened, secret } from './opened.ts'

type Generic = NonNullable<NonNullable<z.input<typeof providersSection>>['generic']>

const NOW_MS = 1_700_000_000_000
const BODY = Buffer.from([0, 1, 2, 0xff, 0xfe])
const provider = (generic: Generic, text = 'the secret') => opened('generic', [secret(text)], { generic })

test('every algorithm in every encoding, with a prefix and without', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const publicText = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')
  const signers = {
    'hmac-sha256': (body: Buffer) => createHmac('sha256', 'the secret').update(body).digest(),
    'hmac-sha512': (body: Buffer) => createHmac('sha512', 'the secret').update(body).digest(),
    ed25519: (body: Buffer) => sign(null, body, privateKey),
  }
  for (const algorithm of ['hmac-sha256', 'hmac-sha512', 'ed25519'] as const) {
    for (const encoding of ['hex', 'base64'] as const) {
      for (const prefix of ['', 'sig=']) {
        const text = algorithm === 'ed25519' ? publicText : 'the secret'
        const open = provider({ algorithm, encoding, signature_prefix: prefix, signature_header: 'x-sig' }, text)
        const value = prefix + signers[algorithm](BODY).toString(encoding)
        const verify = (signature: string) =>
          open.verify({ headers: [['x-sig', signature]], body: BODY, nowMs: NOW_MS })
        const verified = isVerified(verify(value), `${algorithm} ${encoding} ${prefix}`)
        assert.match(verified.replay.key, /^generic:b3:/)
        assert.equal(verified.replay.keepUntilMs, NOW_MS + 90 * 86_400_000)
        isRefused(verify(prefix + signers[algorithm](Buffer.from('other')).toString(encoding)), 'UNAUTH')
        isRefused(verify(`${value}00`), 'MALFORMED')
        if (prefix !== '') isRefused(verify(value.slice(1)), 'MALFORMED')
      }
    }
  }
})

test('a signed time has a window to both sides, in seconds and in milliseconds', () => {
  const open = provider({
    signed: 'v9:{timestamp}.{body}',
    timestamp_header: 'x-time',
    event_header: 'x-event',
    delivery_header: 'x-delivery',
    retries: true,
  })
  assert.equal(open.retries, true)
  const verify = (time: string, more: [string, string][] = []) => {
    const mac = createHmac('sha256', 'the secret').update(`v9:${time}.`).update(BODY).digest('hex')
    return open.verify({ headers: [['x-signature', mac], ['x-time', time], ...more], body: BODY, nowMs: NOW_MS })
  }
  const seconds = NOW_MS / 1000
  const verified = isVerified(
    verify(String(seconds), [
      ['x-event', 'deploy'],
      ['x-delivery', 'd-1'],
    ]),
  )
  assert.deepEqual([verified.event, verified.deliveryId], ['deploy', 'd-1'])
  assert.equal(verified.replay.keepUntilMs, NOW_MS + 300_000 + 72 * 3_600_000)
  isVerified(verify(String(NOW_MS - 300_000)))
  for (const far of [seconds - 301, seconds + 301, NOW_MS - 300_001, NOW_MS + 300_001]) {
    isRefused(verify(String(far)), 'POLICY_BLOCKED', String(far))
  }
  for (const odd of ['', '0', '-1', '1e9', ' 1', '01700000000']) isRefused(verify(odd), 'MALFORMED', odd)
  isRefused(verify(String(seconds), [['x-time', String(seconds)]]), 'MALFORMED')
})

test('what could be read in two ways is refused before it starts', () => {
  const refusedTexts = [
    '{body}{timestamp}',
    '{timestamp}{body}',
    '{timestamp}7{body}',
    '{id}.{body}',
    'body',
    '{body} ',
  ]
  for (const signed of refusedTexts) {
    assert.equal(providersSection.safeParse({ generic: { signed } }).success, false, signed)
  }
  assert.throws(() => provider({ signed: '{timestamp}.{body}' }), /set timestamp_header/)
  assert.throws(() => provider({ algorithm: 'ed25519' }, 'not a key'), /Ed25519 public key/)
})
