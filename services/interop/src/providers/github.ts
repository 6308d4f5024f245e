/**
 * GitHub signs the body and nothing else: `X-Hub-Signature-256: sha256=` and the HMAC-SHA256 of it in hexadecimal.
 * The event and the delivery id are headers that anybody could change on the way, so neither decides what a replay is.
 */
import type { Crypto } from '@cairn/platform'
import {
  jsonObject,
  type Verification,
  type WebhookProvider,
  type WebhookReply,
  type WebhookRequest,
} from './provider.ts'
import { type Secret, textKey } from './secret.ts'
import * as signature from './signature.ts'

const PREFIX = 'sha256='
const DIGEST_BYTES = 32
/** A ping describes one hook; what is larger is something else that calls itself a ping. */
const PING_BYTES_MAX = 64 * 1024
const PONG: WebhookReply = { status: 200, contentType: 'text/plain; charset=utf-8', body: Buffer.from('pong') }

export function githubProvider(crypto: Crypto, secrets: readonly Secret[], maxBodyBytes: number): WebhookProvider {
  const keys = secrets.map(textKey)
  const verify = (request: WebhookRequest): Verification => {
    const { body, nowMs } = request
    const signed = signatureOf(request)
    if ('tag' in signed) return signed
    const key = signature.signingKey(keys, nowMs, ({ bytes }) => crypto.equal(crypto.hmacSha256(bytes, body), signed))
    if ('tag' in key) return key
    const event = signature.oneHeader(request, 'x-github-event')
    if (typeof event === 'object') return event
    const delivery = signature.oneHeader(request, 'x-github-delivery')
    if (typeof delivery === 'object') return delivery
    const replay = {
      key: signature.replayKey('github', undefined, body),
      keepUntilMs: signature.keepUntimed(keys, nowMs),
    }
    return {
      tag: 'verified',
      secretId: key.secret.id,
      replay,
      event: signature.plainText(event) ?? signature.UNKNOWN_EVENT,
      deliveryId: signature.plainText(delivery) ?? replay.key,
      ...(event === 'ping' && isPing(body) ? { reply: PONG } : {}),
    }
  }
  return { name: 'github', verify, retries: false, maxBodyBytes }
}

function signatureOf(request: WebhookRequest) {
  const header = signature.oneHeader(request, 'x-hub-signature-256')
  if (typeof header === 'object') return header
  if (header === undefined) {
    const old = signature.oneHeader(request, 'x-hub-signature')
    if (old === undefined)
      return signature.unauthorized('The header x-hub-signature-256 is missing; give the hook a secret.')
    return signature.unauthorized('A SHA-1 signature is not accepted; x-hub-signature-256 is.')
  }
  const digest = header.startsWith(PREFIX) ? signature.fromHex(header.slice(PREFIX.length), DIGEST_BYTES) : undefined
  return digest ?? signature.malformed('x-hub-signature-256 must be sha256= and 64 lowercase hexadecimal digits.')
}

/** By what is signed: a push whose event header somebody changed to `ping` must not be dropped as one. */
function isPing(body: Uint8Array): boolean {
  const fields = body.length <= PING_BYTES_MAX ? jsonObject(body) : undefined
  return typeof fields?.['zen'] === 'string' && typeof fields['hook_id'] === 'number'
}
