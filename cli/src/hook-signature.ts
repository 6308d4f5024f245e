/** Signs a webhook as its provider would, for a test of what is configured. */
import { CairnError } from '@cairn/kernel'
import { systemCrypto } from '@cairn/platform'
import { type ProviderName, textOf } from './hook-config.ts'

export interface WebhookToSign {
  readonly event: string
  /** What the provider would call this delivery. */
  readonly delivery: string
  readonly body: Uint8Array
  /** Unix milliseconds. */
  readonly nowMs: number
}

type Headers = Readonly<Record<string, string>>
type Settings = Readonly<Record<string, unknown>>

/** Who is to have signed it. */
interface Signer {
  readonly name: ProviderName
  /** How the generic provider signs, in the words of the configuration. */
  readonly generic: Settings
}

/** A body of the provider's kind that says it is a test; another one each time. */
export function sampleBody(name: ProviderName, event: string, delivery: string): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(sample(name, event, delivery)))
}

function sample(name: ProviderName, event: string, delivery: string): unknown {
  const note = 'a test by cairn hook test'
  switch (name) {
    case 'github':
      return { test: note, delivery }
    case 'slack':
      return { type: 'event_callback', event_id: delivery, event: { type: event, text: note } }
    case 'stripe':
      return { id: delivery, object: 'event', type: event, data: { object: { description: note } } }
    case 'standard':
      return { type: event, data: { test: note, delivery } }
    case 'generic':
      return { event, test: note, delivery }
  }
}

/** The headers the provider would send. */
export function signedHeaders(signer: Signer, secret: string, webhook: WebhookToSign): Headers {
  return { 'content-type': 'application/json', ...providerHeaders(signer, secret, webhook) }
}

function providerHeaders({ name, generic }: Signer, secret: string, webhook: WebhookToSign): Headers {
  const { event, delivery, body } = webhook
  const seconds = String(Math.floor(webhook.nowMs / 1000))
  const hex = (prefix: string): string => toHex(systemCrypto.hmacSha256(utf8(secret), joined(prefix, body)))
  switch (name) {
    case 'github':
      return { 'x-github-event': event, 'x-github-delivery': delivery, 'x-hub-signature-256': `sha256=${hex('')}` }
    case 'slack':
      return { 'x-slack-request-timestamp': seconds, 'x-slack-signature': `v0=${hex(`v0:${seconds}:`)}` }
    case 'stripe':
      return { 'stripe-signature': `t=${seconds},v1=${hex(`${seconds}.`)}` }
    case 'standard': {
      const mac = systemCrypto.hmacSha256(standardKey(secret), joined(`${delivery}.${seconds}.`, body))
      return { 'webhook-id': delivery, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${toBase64(mac)}` }
    }
    case 'generic':
      return genericHeaders(generic, secret, webhook, seconds)
  }
}

function standardKey(secret: string): Uint8Array {
  const [, key] = /^whsec_(.+)$/.exec(secret) ?? []
  if (key === undefined) throw cannotSign('a public key verifies and does not sign')
  return Buffer.from(key, 'base64')
}

function genericHeaders(
  settings: Settings,
  secret: string,
  { event, delivery, body }: WebhookToSign,
  seconds: string,
): Headers {
  const { algorithm, encoding } = settings
  if (algorithm === 'ed25519') throw cannotSign('a public key verifies and does not sign')
  const signed = (textOf(settings['signed']) ?? '{body}').slice(0, -'{body}'.length)
  const message = joined(signed.replace('{timestamp}', seconds), body)
  const key = utf8(secret)
  const isLong = algorithm === 'hmac-sha512'
  const mac = isLong ? systemCrypto.hmacSha512(key, message) : systemCrypto.hmacSha256(key, message)
  const text = encoding === 'base64' ? toBase64(mac) : toHex(mac)
  const header = (key: string, value: string): Headers => {
    const name = textOf(settings[key])
    return name === undefined ? {} : { [name]: value }
  }
  return {
    ...header('signature_header', `${textOf(settings['signature_prefix']) ?? ''}${text}`),
    ...(signed.includes('{timestamp}') ? header('timestamp_header', seconds) : {}),
    ...header('event_header', event),
    ...header('delivery_header', delivery),
  }
}

function cannotSign(why: string): CairnError {
  return new CairnError('Malformed', `This secret cannot sign a test: ${why}. Let the sender itself send one.`, {
    code: 'usage',
  })
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function joined(prefix: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([utf8(prefix), body])
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
