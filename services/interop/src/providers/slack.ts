/**
 * Slack signs `v0:<time>:<body>`: `X-Slack-Signature: v0=` and the HMAC-SHA256 in hexadecimal, the time in
 * `X-Slack-Request-Timestamp`. Events carry an id in the body; commands and interactions, which are forms, carry none.
 */
import type { Crypto } from '@cairn/platform'
import {
  type BodyFields,
  formFields,
  jsonObject,
  objectOf,
  type Verification,
  type WebhookProvider,
  type WebhookReply,
  type WebhookRequest,
} from './provider.ts'
import { type Secret, textKey } from './secret.ts'
import * as signature from './signature.ts'

const PREFIX = 'v0='
const DIGEST_BYTES = 32
/** Slack's challenges have some fifty characters. */
const CHALLENGE = /^[\x21-\x7e]{1,1024}$/

export function slackProvider(crypto: Crypto, secrets: readonly Secret[], maxBodyBytes: number): WebhookProvider {
  const keys = secrets.map(textKey)
  const verify = (request: WebhookRequest): Verification => {
    const { body, nowMs } = request
    const header = signature.neededHeader(request, 'x-slack-signature')
    if (typeof header === 'object') return header
    const time = signature.neededHeader(request, 'x-slack-request-timestamp')
    if (typeof time === 'object') return time
    const seconds = signature.unixSeconds(time)
    if (seconds === undefined) return signature.malformed('x-slack-request-timestamp must be a Unix time in seconds.')
    const digest = header.startsWith(PREFIX) ? signature.fromHex(header.slice(PREFIX.length), DIGEST_BYTES) : undefined
    if (digest === undefined) {
      return signature.malformed('x-slack-signature must be v0= and 64 lowercase hexadecimal digits.')
    }
    const signed = signature.withPrefix(`v0:${time}:`, body)
    const key = signature.signingKey(keys, nowMs, ({ bytes }) => crypto.equal(crypto.hmacSha256(bytes, signed), digest))
    if ('tag' in key) return key
    const late = signature.outsideWindow(1000 * seconds, nowMs)
    if (late !== undefined) return late
    const { id, event, reply } = describe(body)
    const replay = {
      key: signature.replayKey('slack', id, signed),
      keepUntilMs: signature.keepTimed(1000 * seconds, nowMs),
    }
    return {
      tag: 'verified',
      secretId: key.secret.id,
      replay,
      event: event ?? signature.UNKNOWN_EVENT,
      deliveryId: id ?? replay.key,
      ...(reply === undefined ? {} : { reply }),
    }
  }
  return { name: 'slack', verify, retries: true, maxBodyBytes }
}

interface Description {
  readonly id?: string | undefined
  readonly event: string | undefined
  readonly reply?: WebhookReply | undefined
}

function describe(body: Uint8Array): Description {
  const fields = jsonObject(body)
  if (fields === undefined) return { event: formEvent(body) }
  const type = signature.plainText(fields['type'])
  const id = signature.plainText(fields['event_id'])
  if (type === 'url_verification') return { event: type, reply: challengeReply(fields) }
  if (type !== 'event_callback') return { id, event: type }
  return { id, event: signature.plainText(objectOf(fields['event'])?.['type']) ?? type }
}

function challengeReply({ challenge }: BodyFields): WebhookReply | undefined {
  if (typeof challenge !== 'string' || !CHALLENGE.test(challenge)) return undefined
  return { status: 200, contentType: 'text/plain; charset=utf-8', body: Buffer.from(challenge) }
}

/** A slash command names itself in `command`; an interaction is JSON in `payload`. */
function formEvent(body: Uint8Array): string | undefined {
  const form = formFields(body)
  if (form.has('command')) return 'slash_command'
  const payload = form.get('payload')
  return payload === null ? undefined : signature.plainText(jsonObject(payload)?.['type'])
}
