/** What others send, signed or not. */
import assert from 'node:assert/strict'
import { systemCrypto } from '@cairn/platform'
import { githubProvider } from '../../../services/interop/src/providers/github.ts'
import type { Provider } from '../../../services/interop/src/providers/provider.ts'
import { slackProvider } from '../../../services/interop/src/providers/slack.ts'
import { standardProvider } from '../../../services/interop/src/providers/standard.ts'
import { stripeProvider } from '../../../services/interop/src/providers/stripe.ts'
import type { FuzzTarget } from '../fuzzer.ts'
import { bytesOf, textOf } from '../inputs.ts'

const SECRET = { id: 'env:S', text: 'whsec_YSBzZWNyZXQgb2YgdGhlIGZ1enplciwgbG9uZyBlbm91Z2g=', notAfterMs: undefined }
const NOW_MS = 1_700_000_000_000
const SECONDS = String(NOW_MS / 1000)
const BODY_MAX = 64 * 1024
const PROVIDERS: readonly Provider[] = [
  githubProvider(systemCrypto, [SECRET], BODY_MAX),
  slackProvider(systemCrypto, [SECRET], BODY_MAX),
  stripeProvider(systemCrypto, [SECRET], BODY_MAX),
  standardProvider(systemCrypto, [SECRET], BODY_MAX),
]

function hmac(text: string, key = bytesOf(SECRET.text)): Buffer {
  return Buffer.from(systemCrypto.hmacSha256(key, bytesOf(text)))
}

const EVENT = '{"id":"evt_1","type":"push","challenge":"c"}'
const STANDARD_KEY = Uint8Array.from(Buffer.from('YSBzZWNyZXQgb2YgdGhlIGZ1enplciwgbG9uZyBlbm91Z2g=', 'base64'))
/** Of these, and of nothing else, signatures were made. */
const SIGNED = [
  `x-hub-signature-256: sha256=${hmac(EVENT).toString('hex')}\nx-github-event: push\nx-github-delivery: d\n\n${EVENT}`,
  `x-slack-signature: v0=${hmac(`v0:${SECONDS}:${EVENT}`).toString('hex')}\nx-slack-request-timestamp: ${SECONDS}\n\n${EVENT}`,
  `stripe-signature: t=${SECONDS},v1=${hmac(`${SECONDS}.${EVENT}`).toString('hex')}\n\n${EVENT}`,
  `webhook-id: m1\nwebhook-timestamp: ${SECONDS}\nwebhook-signature: v1,${hmac(`m1.${SECONDS}.${EVENT}`, STANDARD_KEY).toString('base64')}\n\n${EVENT}`,
]

const webhook: FuzzTarget = {
  name: 'webhook',
  covers: ['services/interop/src/providers/'],
  seeds: SIGNED.map(bytesOf),
  words: ['v1,', 'v1a,', 'v0=', 't=', ',', 'sha256=', ': ', '\n', '\n\n', SECONDS, 'payload=', '%7B'],
  bytesMax: 1500,
  run: (input) => {
    const text = textOf(input)
    const end = text.indexOf('\n\n')
    const lines = (end < 0 ? text : text.slice(0, end)).split('\n')
    const headers = lines.map((line): [string, string] => {
      const colon = line.indexOf(': ')
      return colon < 0 ? [line.toLowerCase(), ''] : [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
    })
    const body = input.slice(end < 0 ? input.length : end + 2)
    for (const provider of PROVIDERS) {
      const judged = provider.verify({ headers, body, nowMs: NOW_MS })
      if (judged.tag === 'verified')
        assert.equal(Buffer.from(body).toString('latin1'), EVENT, `${provider.name} takes a forged body`)
    }
  },
}

export const TARGETS: readonly FuzzTarget[] = [webhook]
