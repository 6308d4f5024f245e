/**
 * Standard Webhooks sign `<id>.<time>.<body>`, the three in `webhook-id`, `webhook-timestamp` and the body, and send
 * `webhook-signature: v1,<base64> v1a,<base64> …`; Svix, where they come from, calls the same three `svix-…`. `v1` is HMAC-SHA256 (a secret `whsec_…`), `v1a` Ed25519 (a public
 * key `whpk_…`). The kind of a secret says which signatures it judges.
 */
import type { Crypto } from '@cairn/platform'
import {
  jsonObject,
  type RefusedVerification,
  type Verification,
  type WebhookProvider,
  type WebhookRequest,
} from './provider.ts'
import { misconfigured, type Secret, type SecretKey } from './secret.ts'
import * as signature from './signature.ts'

const SECRET_PREFIX = 'whsec_'
const PUBLIC_PREFIX = 'whpk_'
const HMAC_BYTES = 32
const ED25519_KEY_BYTES = 32
const ED25519_SIGNATURE_BYTES = 64
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64
/** No full stop, which ends the id in what is signed: with one, part of an id could pass for a time. */
const MESSAGE_ID = /^[\x21-\x2d\x2f-\x7e]{1,200}$/

interface StandardKey extends SecretKey {
  readonly version: 'v1' | 'v1a'
}

export function standardProvider(crypto: Crypto, secrets: readonly Secret[], maxBodyBytes: number): WebhookProvider {
  const keys = secrets.map(standardKey)
  const verify = (request: WebhookRequest): Verification => {
    const { body, nowMs } = request
    const family = familyOf(request)
    const id = signature.neededHeader(request, `${family}-id`)
    if (typeof id === 'object') return id
    const time = signature.neededHeader(request, `${family}-timestamp`)
    if (typeof time === 'object') return time
    const header = signature.neededHeader(request, `${family}-signature`)
    if (typeof header === 'object') return header
    if (!MESSAGE_ID.test(id))
      return signature.malformed(`${family}-id must be 1 to 200 printable characters, no full stop.`)
    const seconds = signature.unixSeconds(time)
    if (seconds === undefined) return signature.malformed(`${family}-timestamp must be a Unix time in seconds.`)
    const signatures = parseStandardSignatures(header)
    if ('tag' in signatures) return signatures
    const signed = signature.withPrefix(`${id}.${time}.`, body)
    const key = signature.signingKey(keys, nowMs, (tried) => fits(crypto, tried, signed, signatures))
    if ('tag' in key) return key
    const late = signature.outsideWindow(1000 * seconds, nowMs)
    if (late !== undefined) return late
    const replay = {
      key: signature.replayKey('standard', id, signed),
      keepUntilMs: signature.keepTimed(1000 * seconds, nowMs),
    }
    const event = signature.plainText(jsonObject(body)?.['type']) ?? signature.UNKNOWN_EVENT
    return { tag: 'verified', secretId: key.secret.id, replay, event, deliveryId: id }
  }
  return { name: 'standard', verify, retries: true, maxBodyBytes }
}

/** What the three headers are called here: all of one family, so that none is made up of two. */
function familyOf({ headers }: WebhookRequest): 'webhook' | 'svix' {
  const names = headers.map(([name]) => name)
  return names.includes('svix-id') && !names.some((name) => name.startsWith('webhook-')) ? 'svix' : 'webhook'
}

/** The key a secret spells; throws `Malformed` for anything that is neither a secret nor a public key. */
function standardKey(secret: Secret): StandardKey {
  const { id, text } = secret
  if (text.startsWith(SECRET_PREFIX)) return { ...symmetricKey(secret), version: 'v1' }
  const bytes = text.startsWith(PUBLIC_PREFIX) ? signature.fromBase64(text.slice(PUBLIC_PREFIX.length)) : undefined
  if (bytes?.length === ED25519_KEY_BYTES) return { secret, bytes, version: 'v1a' }
  throw misconfigured(
    `The secret at ${id} must begin with whsec_, or be whpk_ and the base64 of an Ed25519 public key.`,
  )
}

/** The key of a `whsec_` secret. */
export function symmetricKey(secret: Secret): SecretKey {
  const { id, text } = secret
  const bytes = text.startsWith(SECRET_PREFIX) ? signature.fromBase64(text.slice(SECRET_PREFIX.length)) : undefined
  const isKey = bytes !== undefined && bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX
  if (isKey) return { secret, bytes }
  throw misconfigured(`The secret at ${id} must be whsec_ and the base64 of 24 to 64 bytes.`)
}

interface StandardSignatures {
  readonly v1: readonly Uint8Array[]
  readonly v1a: readonly Uint8Array[]
}

/** Reads the header: every signature of a version we know must be of its one form; other versions prove nothing. */
export function parseStandardSignatures(header: string): StandardSignatures | RefusedVerification {
  const found: { v1: Uint8Array[]; v1a: Uint8Array[] } = { v1: [], v1a: [] }
  const entries = header.split(' ')
  if (entries.length > signature.SIGNATURES_MAX)
    return signature.malformed('webhook-signature has too many signatures.')
  for (const entry of entries) {
    const comma = entry.indexOf(',')
    const version = entry.slice(0, comma)
    if (comma < 1) return malformed()
    if (version !== 'v1' && version !== 'v1a') continue
    const bytes = signature.fromBase64(entry.slice(comma + 1))
    if (bytes?.length !== (version === 'v1' ? HMAC_BYTES : ED25519_SIGNATURE_BYTES)) return malformed()
    found[version].push(bytes)
  }
  return found
}

const malformed = (): RefusedVerification =>
  signature.malformed('webhook-signature must be v1,<base64> or v1a,<base64>, one space between two of them.')

function fits(crypto: Crypto, { version, bytes }: StandardKey, signed: Uint8Array, found: StandardSignatures): boolean {
  if (version === 'v1') return signature.anyEqual(crypto, crypto.hmacSha256(bytes, signed), found.v1)
  return found.v1a.some((candidate) => crypto.ed25519Verify(bytes, signed, candidate))
}
