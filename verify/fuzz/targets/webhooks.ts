/** What others send, signed or not. */
import assert from 'node:assert/strict'
import { systemCrypto } from '@cairn/platform'
import { githubProvider } from '../../../services/interop/src/providers/github.ts'
import type { WebhookProvider } from '../../../services/interop/src/providers/provider.ts'
import { slackProvider } from '../../../services/interop/src/providers/slack.ts'
import { standardProvider } from '../../../services/interop/src/providers/standard.ts'
import { stripeProvider } from '../../../services/interop/src/providers/stripe.ts'
import type { FuzzTarget } from '../fuzzer.ts'
import { bytesOf, linesAndBody, textOf } from '../inputs.ts'

const SECRET = { id: 'env:S', text: 'whsec_YSBzZWNyZXQgb2YgdGhlIGZ1enplciwgbG9uZyBlbm91Z2g=', notAfterMs: undefined }
const NOW_MS = 1_700_000_000_000
const SECONDS = String(NOW_MS / 1000)
const BODY_MAX = 64 * 1024
const PROVIDERS: readonly WebhookProvider[] = [
  githubProvider(systemCrypto, [SECRET], BODY_MAX),
  slackProvider(systemCrypto, [SECRET], BODY_MAX),
  stripeProvider(systemCrypto, [SECRET], BODY_MAX),
  standardProvider(systemCrypto, [SECRET], BODY_MAX),
]

function hmac(text: string, key = bytesOf(SECRET.text)): Buffer {
  return Buffer.from(systemCrypto.hmacSha256(key, Buffer.from(text, 'latin1')))
}

const EVENT = '{"id":"evt_1","type":"push","challenge":"c"}'
const STANDARD_KEY = Uint8Array.from(Buffer.from('YSBzZWNyZXQgb2YgdGhlIGZ1enplciwgbG9uZyBlbm91Z2g=', 'base64'))

/** How each provider would send this body. */
const SIGN: Readonly<Record<string, (body: string) => Readonly<Record<string, string>>>> = {
  github: (body) => ({ 'x-hub-signature-256': `sha256=${hmac(body).toString('hex')}` }),
  slack: (body) => ({
    'x-slack-signature': `v0=${hmac(`v0:${SECONDS}:${body}`).toString('hex')}`,
    'x-slack-request-timestamp': SECONDS,
  }),
  stripe: (body) => ({ 'stripe-signature': `t=${SECONDS},v1=${hmac(`${SECONDS}.${body}`).toString('hex')}` }),
  standard: (body) => ({
    'webhook-id': 'm1',
    'webhook-timestamp': SECONDS,
    'webhook-signature': `v1,${hmac(`m1.${SECONDS}.${body}`, STANDARD_KEY).toString('base64')}`,
  }),
}

/** Of these, and of nothing else, signatures were made that an input can have. */
const SIGNED = Object.values(SIGN).map((sign) => {
  const fields = Object.entries({ ...sign(EVENT), 'x-github-event': 'push', 'x-github-delivery': 'd' })
  return `${fields.map(([name, value]) => `${name}: ${value}`).join('\n')}\n\n${EVENT}`
})
const OTHER_BODIES = [
  '{"type":"url_verification","challenge":"abc"}',
  '{"type":"event_callback","event_id":"E1","event":{"type":"message"}}',
  'command=%2Fdeploy&text=now',
  `payload=${encodeURIComponent('{"type":"block_actions"}')}`,
  '{"zen":"Keep it.","hook_id":1}',
]

interface Heard {
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Uint8Array
}

function heard(input: Uint8Array): Heard {
  const { lines, body } = linesAndBody(input)
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(': ')
    return colon < 0 ? [line.toLowerCase(), ''] : [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
  })
  return { headers, body }
}

/** Signed by its provider, it is taken whatever the body is, told apart from others alike, and named in plain words. */
function holdSigned(provider: WebhookProvider, { headers, body }: Heard): void {
  const own = Object.entries(SIGN[provider.name]?.(textOf(body)) ?? {})
  const names = new Set(own.map(([name]) => name))
  const strangers = headers.filter(([name]) => !names.has(name))
  const judge = () => provider.verify({ headers: [...strangers, ...own], body, nowMs: NOW_MS })
  const judged = judge()
  if (judged.tag !== 'verified') {
    // Its event or its delivery may be said twice.
    assert.ok(provider.name === 'github' && strangers.length > 1, `${provider.name} refuses what it signed`)
    return
  }
  assert.deepEqual(judge(), judged)
  assert.match(judged.event, /^[\x21-\x7e]{1,200}$/)
  assert.ok(judged.replay.keepUntilMs > NOW_MS)
}

const webhook: FuzzTarget = {
  name: 'webhook',
  covers: ['services/interop/src/providers/'],
  seeds: [...SIGNED, ...OTHER_BODIES.map((body) => `x-github-event: ping\n\n${body}`)].map(bytesOf),
  words: [
    'v1,',
    'v1a,',
    'v0=',
    't=',
    ',',
    'sha256=',
    ': ',
    '\n',
    '\n\n',
    SECONDS,
    'payload=',
    'command=',
    '%7B',
    '"type":',
  ],
  bytesMax: 1500,
  run: (input) => {
    const request = heard(input)
    for (const provider of PROVIDERS) {
      const judged = provider.verify({ ...request, nowMs: NOW_MS })
      if (judged.tag === 'verified') assert.equal(textOf(request.body), EVENT, `${provider.name} takes a forged body`)
      holdSigned(provider, request)
    }
  },
}

export const TARGETS: readonly FuzzTarget[] = [webhook]
