/** Whatever stands in the headers, a verifier answers; and no two readings of the same signed text are both accepted. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ProviderName } from '../../src/providers/config.ts'
import type { WebhookProvider } from '../../src/providers/provider.ts'
import { parseStandardSignatures } from '../../src/providers/standard.ts'
import { parseStripeSignature } from '../../src/providers/stripe.ts'
import { nextCursor, readAttempts } from '../../src/reconcile/github-deliveries.ts'
import { opened, secret } from './opened.ts'

const NOW_MS = 1_700_000_000_000
const NOW = String(NOW_MS / 1000)
const KEY = Buffer.alloc(24, 7)
const TEXT = 'a secret'
const runs = (numRuns: number) => ({ numRuns: process.env['CAIRN_LONG'] === '1' ? 100 * numRuns : numRuns })

const mac = (key: string | Buffer, ...parts: readonly (string | Uint8Array)[]): Buffer => {
  const hmac = createHmac('sha256', key)
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}

interface Subject {
  readonly name: ProviderName
  readonly provider: WebhookProvider
  readonly headers: readonly string[]
  /** Headers that are right for this body. */
  sign(body: Uint8Array): [string, string][]
}

const SUBJECTS: readonly Subject[] = [
  {
    name: 'github',
    provider: opened('github', [secret(TEXT)]),
    headers: ['x-hub-signature-256', 'x-hub-signature', 'x-github-event', 'x-github-delivery'],
    sign: (body) => [['x-hub-signature-256', `sha256=${mac(TEXT, body).toString('hex')}`]],
  },
  {
    name: 'slack',
    provider: opened('slack', [secret(TEXT)]),
    headers: ['x-slack-signature', 'x-slack-request-timestamp'],
    sign: (body) => [
      ['x-slack-signature', `v0=${mac(TEXT, `v0:${NOW}:`, body).toString('hex')}`],
      ['x-slack-request-timestamp', NOW],
    ],
  },
  {
    name: 'stripe',
    provider: opened('stripe', [secret(TEXT)]),
    headers: ['stripe-signature'],
    sign: (body) => [['stripe-signature', `t=${NOW},v1=${mac(TEXT, `${NOW}.`, body).toString('hex')}`]],
  },
  {
    name: 'standard',
    provider: opened('standard', [secret(`whsec_${KEY.toString('base64')}`)]),
    headers: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
    sign: (body) => [
      ['webhook-id', 'm1'],
      ['webhook-timestamp', NOW],
      ['webhook-signature', `v1,${mac(KEY, `m1.${NOW}.`, body).toString('base64')}`],
    ],
  },
  {
    name: 'generic',
    provider: opened('generic', [secret(TEXT)], {
      generic: { signed: '{timestamp}.{body}', timestamp_header: 'x-time' },
    }),
    headers: ['x-signature', 'x-time'],
    sign: (body) => [
      ['x-signature', mac(TEXT, `${NOW}.`, body).toString('hex')],
      ['x-time', NOW],
    ],
  },
]

const fragment = fc.constantFrom(
  'sha256=',
  'v0=',
  'v1=',
  'v1,',
  'v1a,',
  't=',
  ',',
  ' ',
  '=',
  '.',
  ':',
  NOW,
  '0'.repeat(64),
)
const headerText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.array(fc.oneof(fragment, fc.string({ maxLength: 4 })), { maxLength: 12 }).map((parts) => parts.join('')),
)

for (const { name, provider, headers: names, sign } of SUBJECTS) {
  test(`${name}: any headers and any body are refused, never thrown at`, () => {
    const header = fc.tuple(fc.constantFrom(...names), headerText)
    fc.assert(
      fc.property(fc.array(header, { maxLength: 6 }), fc.uint8Array({ maxLength: 200 }), (headers, body) => {
        assert.equal(provider.verify({ headers, body, nowMs: NOW_MS }).tag, 'refused')
      }),
      runs(1000),
    )
  })

  test(`${name}: one changed character of a good signature, time or id, and it is not good any more`, () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 100 }),
        fc.nat(),
        fc.nat(),
        fc.string({ maxLength: 2 }),
        (body, which, where, text) => {
          const headers = sign(body)
          assert.equal(provider.verify({ headers, body, nowMs: NOW_MS }).tag, 'verified')
          const [header, value] = headers[which % headers.length]!
          const at = where % value.length
          const changed = value.slice(0, at) + text + value.slice(at + 1)
          // What is added to a list beside a good signature changes nothing, and is tried elsewhere.
          fc.pre(changed !== value && !changed.includes(value))
          const tried = headers.map((each): [string, string] => (each[0] === header ? [header, changed] : each))
          assert.equal(provider.verify({ headers: tried, body, nowMs: NOW_MS }).tag, 'refused', changed)
        },
      ),
      runs(1000),
    )
  })
}

test('a signed text is cut into id, time and body in one way only', () => {
  const piece = fc.oneof(fc.constant(NOW), fc.constantFrom('.', ':', 'v0', 'm'), fc.stringMatching(/^[a-z0-9.]{0,6}$/))
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
      const signed = Buffer.from(pieces.join('.'))
      const standard = SUBJECTS.find(({ name }) => name === 'standard')!.provider
      const signature = `v1,${mac(KEY, signed).toString('base64')}`
      let accepted = 0
      const stops = [...signed.keys()].filter((at) => signed[at] === 0x2e)
      for (const [index, first] of stops.entries()) {
        for (const second of stops.slice(index + 1)) {
          const headers = [
            ['webhook-id', signed.toString('latin1', 0, first)],
            ['webhook-timestamp', signed.toString('latin1', first + 1, second)],
            ['webhook-signature', signature],
          ] as const
          if (standard.verify({ headers, body: signed.subarray(second + 1), nowMs: NOW_MS }).tag === 'verified')
            accepted += 1
        }
      }
      assert.ok(accepted <= 1)
    }),
    runs(500),
  )
})

test('what the parsers of lists take, they write back as they read it', () => {
  fc.assert(
    fc.property(headerText, (header) => {
      const stripe = parseStripeSignature(header)
      if (!('tag' in stripe)) {
        const parts = new Set(header.split(','))
        assert.ok(parts.has(`t=${stripe.time}`))
        for (const digest of stripe.digests) assert.ok(parts.has(`v1=${Buffer.from(digest).toString('hex')}`))
      }
      const standard = parseStandardSignatures(header)
      if ('tag' in standard) return
      const parts = new Set(header.split(' '))
      for (const each of standard.v1) assert.ok(parts.has(`v1,${Buffer.from(each).toString('base64')}`))
    }),
    runs(2000),
  )
})

test('any Link header has a cursor or none; any text is a page of deliveries or an error of ours', () => {
  const link = fc.array(
    fc.oneof(headerText, fc.constantFrom('<https://x/?cursor=v1_2>', '; rel="next"', '; rel=prev', ',')),
  )
  fc.assert(
    fc.property(link, (parts) => {
      const cursor = nextCursor(parts.join(''))
      assert.ok(cursor === undefined || cursor.length > 0)
    }),
    runs(1000),
  )
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      try {
        readAttempts(text)
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'integrity')
      }
    }),
    runs(1000),
  )
})
