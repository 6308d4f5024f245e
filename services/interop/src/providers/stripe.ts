/**
 * Stripe signs `<time>.<body>`: `Stripe-Signature: t=<time>,v1=<hex>[,v1=<hex>…]`, one `v1` for each secret while they
 * rotate. Other schemes may stand beside it (`v0` for its test mode) and prove nothing here.
 */
import type { Crypto } from '@cairn/platform'
import {
  jsonObject,
  type RefusedVerification,
  type Verification,
  type WebhookProvider,
  type WebhookRequest,
} from './provider.ts'
import { type Secret, textKey } from './secret.ts'
import * as signature from './signature.ts'

const DIGEST_BYTES = 32

export function stripeProvider(crypto: Crypto, secrets: readonly Secret[], maxBodyBytes: number): WebhookProvider {
  const keys = secrets.map(textKey)
  const verify = (request: WebhookRequest): Verification => {
    const { body, nowMs } = request
    const header = signature.neededHeader(request, 'stripe-signature')
    if (typeof header === 'object') return header
    const parsed = parseStripeSignature(header)
    if ('tag' in parsed) return parsed
    const { time, seconds, digests } = parsed
    const signed = signature.withPrefix(`${time}.`, body)
    const key = signature.signingKey(keys, nowMs, ({ bytes }) =>
      signature.anyEqual(crypto, crypto.hmacSha256(bytes, signed), digests),
    )
    if ('tag' in key) return key
    const late = signature.outsideWindow(1000 * seconds, nowMs)
    if (late !== undefined) return late
    const fields = jsonObject(body)
    const id = signature.plainText(fields?.['id'])
    const replay = {
      key: signature.replayKey('stripe', id, signed),
      keepUntilMs: signature.keepTimed(1000 * seconds, nowMs),
    }
    const event = signature.plainText(fields?.['type']) ?? signature.UNKNOWN_EVENT
    return { tag: 'verified', secretId: key.secret.id, replay, event, deliveryId: id ?? replay.key }
  }
  return { name: 'stripe', verify, retries: true, maxBodyBytes }
}

interface StripeSignature {
  /** As it was written, which is how it was signed. */
  readonly time: string
  readonly seconds: number
  readonly digests: readonly Uint8Array[]
}

/** Reads the header: one time, and at least one `v1`, each of its one form. */
export function parseStripeSignature(header: string): StripeSignature | RefusedVerification {
  let time: string | undefined
  const digests: Uint8Array[] = []
  for (const part of header.split(',')) {
    const [scheme, value, ...rest] = part.split('=')
    if (value === undefined || rest.length > 0) return malformed()
    if (scheme === 't') {
      if (time !== undefined) return malformed()
      time = value
    } else if (scheme === 'v1') {
      const digest = signature.fromHex(value, DIGEST_BYTES)
      if (digest === undefined || digests.length === signature.SIGNATURES_MAX) return malformed()
      digests.push(digest)
    }
  }
  const seconds = time === undefined ? undefined : signature.unixSeconds(time)
  if (time === undefined || seconds === undefined) return malformed()
  if (digests.length === 0) return signature.unauthorized('stripe-signature has no v1 signature.')
  return { time, seconds, digests }
}

const malformed = (): RefusedVerification =>
  signature.malformed('stripe-signature must be t=<Unix seconds>,v1=<64 lowercase hexadecimal digits>, with one t.')
