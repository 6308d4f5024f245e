/** Any other sender that signs its body: the configuration says in which header, how, and over which text. */
import type { Crypto } from '@cairn/platform'
import type { GenericConfig } from './config.ts'
import type { RefusedVerification, Verification, WebhookProvider, WebhookRequest } from './provider.ts'
import { misconfigured, type Secret, type SecretKey, textKey } from './secret.ts'
import * as signature from './signature.ts'

const SIGNATURE_BYTES = { 'hmac-sha256': 32, 'hmac-sha512': 64, ed25519: 64 } as const
const ED25519_KEY_BYTES = 32
/** Unix seconds pass this in the year 5138, milliseconds passed it in 1973. */
const MILLISECONDS_FROM = 1e11

export function genericProvider(crypto: Crypto, secrets: readonly Secret[], config: GenericConfig): WebhookProvider {
  const keys = secrets.map((secret) => (config.algorithm === 'ed25519' ? publicKey(secret) : textKey(secret)))
  const template = templateOf(config)
  const verify = (request: WebhookRequest): Verification => {
    const { body, nowMs } = request
    const candidate = signatureOf(request, config)
    if ('tag' in candidate) return candidate
    const time = timeOf(request, template.timeHeader)
    if ('tag' in time) return time
    const signed = signature.withPrefix(template.before + time.text + template.between, body)
    const key = signature.signingKey(keys, nowMs, (tried) => fits(crypto, config, tried, signed, candidate))
    if ('tag' in key) return key
    const late = time.ms === undefined ? undefined : signature.outsideWindow(time.ms, nowMs)
    if (late !== undefined) return late
    const event = optionalHeader(request, config.event_header)
    if (typeof event === 'object') return event
    const delivery = optionalHeader(request, config.delivery_header)
    if (typeof delivery === 'object') return delivery
    const keepUntilMs = time.ms === undefined ? signature.keepUntimed(keys, nowMs) : signature.keepTimed(time.ms, nowMs)
    const replay = { key: signature.replayKey('generic', undefined, signed), keepUntilMs }
    return {
      tag: 'verified',
      secretId: key.secret.id,
      replay,
      event: signature.plainText(event) ?? signature.UNKNOWN_EVENT,
      deliveryId: signature.plainText(delivery) ?? replay.key,
    }
  }
  return { name: 'generic', verify, retries: config.retries, maxBodyBytes: config.max_body_bytes }
}

function publicKey(secret: Secret): SecretKey {
  const bytes = signature.fromBase64(secret.text)
  if (bytes?.length === ED25519_KEY_BYTES) return { secret, bytes }
  throw misconfigured(`The secret at ${secret.id} must be the base64 of an Ed25519 public key.`)
}

interface Template {
  /** The signed text is `before`, the time, `between`, the body. */
  readonly before: string
  readonly between: string
  readonly timeHeader: string | undefined
}

function templateOf({ signed, timestamp_header: timeHeader }: GenericConfig): Template {
  const [before = '', between] = signed.slice(0, -'{body}'.length).split('{timestamp}')
  if (between === undefined) return { before, between: '', timeHeader: undefined }
  if (timeHeader !== undefined) return { before, between, timeHeader }
  throw misconfigured('interop.providers.generic.signed has a {timestamp}; set timestamp_header.')
}

function signatureOf(request: WebhookRequest, config: GenericConfig): Uint8Array | RefusedVerification {
  const { signature_header: name, signature_prefix: prefix, encoding, algorithm } = config
  const header = signature.neededHeader(request, name)
  if (typeof header === 'object') return header
  const text = header.slice(prefix.length)
  const length = SIGNATURE_BYTES[algorithm]
  const bytes = encoding === 'hex' ? signature.fromHex(text, length) : signature.fromBase64(text)
  if (header.startsWith(prefix) && bytes?.length === length) return bytes
  return signature.malformed(`${name} must be ${prefix === '' ? '' : `${prefix} and `}${length} bytes in ${encoding}.`)
}

function timeOf(request: WebhookRequest, name: string | undefined): Time | RefusedVerification {
  if (name === undefined) return { text: '', ms: undefined }
  const text = signature.neededHeader(request, name)
  if (typeof text === 'object') return text
  if (!/^[1-9]\d{0,14}$/.test(text)) return signature.malformed(`${name} must be a Unix time.`)
  const value = Number(text)
  return { text, ms: value < MILLISECONDS_FROM ? 1000 * value : value }
}

interface Time {
  readonly text: string
  readonly ms: number | undefined
}

function optionalHeader(request: WebhookRequest, name: string | undefined): string | undefined | RefusedVerification {
  return name === undefined ? undefined : signature.oneHeader(request, name)
}

function fits(
  crypto: Crypto,
  { algorithm }: GenericConfig,
  { bytes }: SecretKey,
  signed: Uint8Array,
  found: Uint8Array,
) {
  switch (algorithm) {
    case 'hmac-sha256':
      return crypto.equal(crypto.hmacSha256(bytes, signed), found)
    case 'hmac-sha512':
      return crypto.equal(crypto.hmacSha512(bytes, signed), found)
    case 'ed25519':
      return crypto.ed25519Verify(bytes, signed, found)
  }
}
