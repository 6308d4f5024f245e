/**
 * The keys behind capability tokens.
 *
 *   root of kid ── derive_key("cairn-cap/v1 key storage") ──→ the key of storage
 *               ── derive_key("cairn-cap/v1 key index")   ──→ the key of index      …
 *
 * The launcher holds the roots and hands each service a keyring derived for it alone, so a service can verify (and
 * mint) its own tokens and no other's.
 */
import { CairnError } from '@cairn/kernel'
import { DIGEST_BYTES } from './blake3/constants.ts'
import { deriveBlake3Key } from './blake3/hash.ts'
import { fromBase64url, toBase64url } from './bytes.ts'
import { canonicalJson, type JsonObject, type JsonValue, parseJson } from './json.ts'
import { type Audience, isAudience } from './scopes.ts'

export interface KeyringKey {
  /** 1 to 32 of `a-z 0-9 -`. */
  readonly kid: string
  /** One key mints; retiring ones still verify, until `notAfter`. */
  readonly state: 'active' | 'retiring'
  /** Unix seconds; absent while no end is set. */
  readonly notAfter?: number
  readonly secret: Uint8Array
}

export interface Keyring {
  /** Whose secrets these are: the roots, or the keys derived for one service. */
  readonly holder: 'root' | Audience
  readonly keys: readonly KeyringKey[]
}

const VERSION = 1
const MAX_KEYS = 16

/** A first ring of roots with one active key. */
export function createKeyring(kid: string, secret: Uint8Array): Keyring {
  return checked({ holder: 'root', keys: [{ kid, state: 'active', secret }] })
}

/** The ring of one service, from the roots (or the ring itself, if it already is that service's). */
export function deriveKeyring(ring: Keyring, audience: Audience): Keyring {
  if (ring.holder === audience) return ring
  if (ring.holder !== 'root') {
    throw new CairnError(
      'Forbidden',
      `A keyring of ${ring.holder} cannot make keys for ${audience}; only the roots can.`,
    )
  }
  const derive = (key: KeyringKey): KeyringKey => ({
    ...key,
    secret: deriveBlake3Key(`cairn-cap/v1 key ${audience}`, key.secret),
  })
  return { holder: audience, keys: ring.keys.map(derive) }
}

/** The key that mints. */
export function activeKey(ring: Keyring): KeyringKey {
  const key = ring.keys.find((candidate) => candidate.state === 'active')
  if (key === undefined) throw new CairnError('Internal', 'The keyring has no active key.')
  return key
}

/**
 * The ring with a new active key; the former one retires and verifies for `overlapMs` more, and keys whose time is over
 * are dropped.
 */
export function rotateKeyring(
  ring: Keyring,
  fresh: { readonly kid: string; readonly secret: Uint8Array },
  { nowMs, overlapMs }: { readonly nowMs: number; readonly overlapMs: number },
): Keyring {
  const notAfter = Math.ceil((nowMs + overlapMs) / 1000)
  const kept = ring.keys
    .filter((key) => !isRetired(key, nowMs))
    .map((key): KeyringKey => (key.state === 'active' ? { ...key, state: 'retiring', notAfter } : key))
  return checked({ holder: ring.holder, keys: [{ ...fresh, state: 'active' }, ...kept] })
}

export function isRetired(key: KeyringKey, nowMs: number): boolean {
  return key.notAfter !== undefined && nowMs > key.notAfter * 1000
}

/** The ring as canonical JSON, secrets included: a file for its owner's eyes only. */
export function encodeKeyring(ring: Keyring): Uint8Array {
  const keys = ring.keys.map((key) => ({
    kid: key.kid,
    state: key.state,
    not_after: key.notAfter ?? null,
    secret: toBase64url(key.secret),
  }))
  return canonicalJson({ v: VERSION, holder: ring.holder, keys })
}

export function decodeKeyring(bytes: Uint8Array): Keyring {
  const { v, holder, keys } = members(parseJson(bytes), ['holder', 'keys', 'v'])
  if (v !== VERSION) throw malformed(`its version is not ${VERSION}`)
  if (holder !== 'root' && !isAudience(holder)) throw malformed('its holder is neither root nor a service')
  if (!Array.isArray(keys)) throw malformed('its keys are not a list')
  return checked({ holder, keys: keys.map(readKey) })
}

function readKey(value: JsonValue): KeyringKey {
  const { kid, state, not_after: notAfter, secret } = members(value, ['kid', 'not_after', 'secret', 'state'])
  if (typeof kid !== 'string' || typeof secret !== 'string') throw malformed('a kid or a secret is not a string')
  if (state !== 'active' && state !== 'retiring') throw malformed(`the state of ${kid} is not active or retiring`)
  const key = { kid, state, secret: fromBase64url(secret) } as const
  if (notAfter === null) return key
  if (typeof notAfter !== 'number') throw malformed(`the not_after of ${kid} is not a number`)
  return { ...key, notAfter }
}

function members(value: JsonValue, keys: readonly string[]): JsonObject {
  const isObject = typeof value === 'object' && value !== null && !isList(value)
  if (!isObject || Object.keys(value).sort().join() !== keys.join()) throw malformed(`expected ${keys.join(', ')}`)
  return value
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)

export function isKid(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z0-9-]{1,32}$/.test(value)
}

function checked(ring: Keyring): Keyring {
  const kids = ring.keys.map((key) => key.kid)
  if (!kids.every(isKid)) throw malformed('a kid is not 1 to 32 of a-z, 0-9 and "-"')
  if (new Set(kids).size !== kids.length) throw malformed('two keys have the same kid')
  if (ring.keys.length > MAX_KEYS) throw malformed(`it has more than ${MAX_KEYS} keys`)
  if (ring.keys.some((key) => key.secret.length !== DIGEST_BYTES)) throw malformed('a secret is not 32 bytes')
  if (ring.keys.filter((key) => key.state === 'active').length !== 1) throw malformed('not exactly one key is active')
  return ring
}

function malformed(problem: string): CairnError {
  return new CairnError('Malformed', `This is not a keyring: ${problem}.`)
}
