/** Every verifier against its vendor's own library, case by generated case. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import * as octokit from '@octokit/webhooks-methods'
import bolt from '@slack/bolt'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import {
  asText,
  below,
  hexOf,
  jsonBody,
  type RawHeaders,
  runCases,
  type Signing,
  type Vendor,
  verdict,
} from './vendor-cases.ts'

const PER_KIND = 100
const CASES_MIN = 1000

const hmac = (secret: string | Buffer, ...parts: readonly (string | Buffer)[]): Buffer => {
  const mac = createHmac('sha256', secret)
  for (const part of parts) mac.update(part)
  return mac.digest()
}

const header = (headers: RawHeaders, name: string): string => headers.find(([each]) => each === name)?.[1] ?? ''

async function enough(t: TestContext, vendor: Vendor): Promise<void> {
  const count = await runCases(vendor, PER_KIND)
  assert.ok(count >= CASES_MIN)
  t.diagnostic(`${count} cases`)
}

const github: Vendor = {
  provider: 'github',
  signatureHeader: 'x-hub-signature-256',
  isTimed: false,
  newSecret: (random) => `It's ${hexOf(random, 12)} ü`,
  newBody: (random, id) => jsonBody(random, id, 'push'),
  sign: async ({ secret, body, seconds }) => githubHeaders(await octokit.sign(secret, asText(body)), seconds),
  signBytes: ({ secret, body, seconds }) => githubHeaders(`sha256=${hmac(secret, body).toString('hex')}`, seconds),
  accepts: async (secret, headers, body) =>
    await verdict(async () => await octokit.verify(secret, asText(body), header(headers, 'x-hub-signature-256'))),
  gaps: { future: true, empty: true },
}

/** The delivery id changes with every attempt we make up, as it would for an attacker who resends a body. */
function githubHeaders(signature: string, attempt: number): RawHeaders {
  return [
    ['x-github-event', 'push'],
    ['x-github-delivery', `72d3162e-cc78-11e3-81ab-${attempt.toString(16).padStart(12, '0')}`],
    ['x-hub-signature-256', signature],
  ]
}

test('GitHub: octokit signs and verifies texts, we the same and any bytes', async (t) => {
  await enough(t, github)
})

const slack: Vendor = {
  provider: 'slack',
  signatureHeader: 'x-slack-signature',
  isTimed: true,
  newSecret: (random) => hexOf(random, 16),
  newBody: (random, id) =>
    Buffer.from(
      JSON.stringify({ type: 'event_callback', event_id: id, event: { type: 'message', text: hexOf(random, 20) } }),
    ),
  // Bolt has no signer: what is signed here by its rules is judged by Bolt in every case.
  sign: async (signing) => await Promise.resolve(signSlack(signing)),
  signBytes: (signing) => signSlack(signing),
  accepts: async (secret, headers, body, nowMs) =>
    await verdict(() => {
      bolt.verifySlackRequest({
        signingSecret: secret,
        body: asText(body),
        headers: {
          'x-slack-signature': header(headers, 'x-slack-signature'),
          'x-slack-request-timestamp': Number(header(headers, 'x-slack-request-timestamp')),
        },
        nowMilliseconds: nowMs,
      })
    }),
  gaps: { future: true, empty: false },
}

function signSlack({ secret, body, seconds }: Signing): RawHeaders {
  return [
    ['x-slack-request-timestamp', String(seconds)],
    ['x-slack-signature', `v0=${hmac(secret, `v0:${seconds}:`, body).toString('hex')}`],
  ]
}

test('Slack: Bolt takes times from the future, we do not', async (t) => {
  await enough(t, slack)
})

const { webhooks } = new Stripe('sk_test_123')

const stripe: Vendor = {
  provider: 'stripe',
  signatureHeader: 'stripe-signature',
  isTimed: true,
  newSecret: (random) => `whsec_${hexOf(random, 16)}`,
  newBody: (random, id) => jsonBody(random, id, 'invoice.paid'),
  sign: async ({ secret, body, seconds }) => {
    const options = { payload: asText(body), secret, timestamp: seconds }
    return await Promise.resolve([['stripe-signature', webhooks.generateTestHeaderString(options)]])
  },
  signBytes: ({ secret, body, seconds }) => {
    return [['stripe-signature', `t=${seconds},v1=${hmac(secret, `${seconds}.`, body).toString('hex')}`]]
  },
  accepts: async (secret, headers, body, nowMs) =>
    await verdict(() =>
      webhooks.signature!.verifyHeader(body, header(headers, 'stripe-signature'), secret, 300, undefined, nowMs),
    ),
  gaps: { future: true, empty: false },
}

test('Stripe: its library takes times from the future, we do not', async (t) => {
  await enough(t, stripe)
})

const standard: Vendor = {
  provider: 'standard',
  signatureHeader: 'webhook-signature',
  isTimed: true,
  newSecret: (random) => `whsec_${Buffer.from(random.bytes(24 + below(random, 41))).toString('base64')}`,
  newBody: (random, id) => jsonBody(random, id, 'user.created'),
  sign: async ({ secret, id, body, seconds }) => {
    const signature = new Webhook(secret).sign(id, new Date(1000 * seconds), asText(body))
    return await Promise.resolve(standardHeaders(id, seconds, signature))
  },
  signBytes: ({ secret, id, body, seconds }) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    return standardHeaders(id, seconds, `v1,${hmac(key, `${id}.${seconds}.`, body).toString('base64')}`)
  },
  accepts: async (secret, headers, body) =>
    await verdict(() => new Webhook(secret).verify(asText(body), Object.fromEntries(headers), { jsonParse: false })),
  gaps: { future: false, empty: false },
}

function standardHeaders(id: string, seconds: number, signature: string): RawHeaders {
  return [
    ['webhook-id', id],
    ['webhook-timestamp', String(seconds)],
    ['webhook-signature', signature],
  ]
}

test('Standard Webhooks v1: the library and we agree on texts; bytes are ours alone', async (t) => {
  // The library asks the machine for the time.
  const moved: Vendor = {
    ...standard,
    accepts: async (secret, headers, body, nowMs) => {
      t.mock.timers.enable({ apis: ['Date'], now: nowMs })
      const isAccepted = await standard.accepts(secret, headers, body, nowMs)
      t.mock.timers.reset()
      return isAccepted
    },
  }
  await enough(t, moved)
})
