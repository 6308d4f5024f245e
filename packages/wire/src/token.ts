/**
 * Capability tokens: what a service signs into being and any bearer can narrow, never widen.
 *
 *   K      = the key of `aud` under `kid`                               (keyring.ts)
 *   mac₀   = keyed(K,      "cairn-cap/v1 init"   ‖ CBOR [v, tid, kid, aud, scopes])
 *   macᵢ   = keyed(macᵢ₋₁, "cairn-cap/v1 caveat" ‖ CBOR caveatᵢ)
 *   token  = base64url(CBOR [v, tid, kid, aud, scopes, [caveat …], macₙ])
 *
 * Only the last mac is in the token. Its bearer can key the next one with it, but cannot go back to an earlier mac: so
 * any bearer can add caveats and none can remove them.
 */
import { CairnError } from '@cairn/kernel'
import { keyedBlake3 } from './blake3/hash.ts'
import { equalSecrets, fromBase64url, toBase64url, toHex } from './bytes.ts'
import { type Caveat, type RawCaveat, writeCaveat } from './caveats.ts'
import { decodeCbor, encodeCbor } from './cbor.ts'
import { activeKey, deriveKeyring, isKid, type Keyring } from './keyring.ts'
import { ANY_SCOPE, type Audience, isAudience, isScope, type Scope } from './scopes.ts'

/** Characters of one token's text. */
const MAX_TOKEN_LENGTH = 4096
export const MAX_CAVEATS = 64
const TID_BYTES = 16
const MAC_BYTES = 32
const VERSION = 1

export interface Token {
  /** 32 hexadecimal digits: what a deny-list names. */
  readonly tid: string
  readonly kid: string
  readonly aud: Audience
  /** Sorted; `*` stands alone. */
  readonly scopes: readonly (Scope | typeof ANY_SCOPE)[]
  readonly caveats: readonly RawCaveat[]
}

/** A token as read: claims that are not yet believed, and what is needed to check them. */
export interface ReadToken {
  readonly claims: Token
  readonly tid: Uint8Array
  readonly mac: Uint8Array
}

export interface MintRequest {
  /** 16 random bytes, never used before. */
  readonly tid: Uint8Array
  readonly aud: Audience
  readonly scopes: readonly Scope[]
  readonly caveats?: readonly Caveat[]
}

/** A new token for `aud`, signed by the active key; refused if the ring is another service's. */
export function mintToken(ring: Keyring, request: MintRequest): string {
  if (!request.scopes.every(isScope)) throw new CairnError('Malformed', 'A scope is not in the table of scopes.')
  return mint(ring, request)
}

/** A token for `aud` with every scope. Only the administrator's bundle is made of these. */
export function mintAdminToken(ring: Keyring, request: Omit<MintRequest, 'scopes'>): string {
  return mint(ring, { ...request, scopes: [ANY_SCOPE] })
}

function mint(ring: Keyring, request: Omit<MintRequest, 'scopes'> & { readonly scopes: Token['scopes'] }): string {
  const { tid, aud } = request
  if (tid.length !== TID_BYTES) throw new CairnError('Malformed', `A token id has ${TID_BYTES} bytes.`)
  if (request.scopes.length === 0)
    throw new CairnError('Malformed', 'A token without scopes allows nothing; name some.')
  const scopes = [...new Set(request.scopes)].sort()
  const { kid, secret } = activeKey(deriveKeyring(ring, aud))
  const bare = { claims: { tid: toHex(tid), kid, aud, scopes, caveats: [] }, tid }
  return narrow({ ...bare, mac: firstMac(secret, bare) }, request.caveats ?? [])
}

/** The token with more caveats; needs no key. Refuses text that is not a token. */
export function attenuateToken(text: string, caveats: readonly Caveat[]): string {
  return narrow(readToken(text), caveats)
}

function narrow({ claims, tid, mac }: ReadToken, caveats: readonly Caveat[]): string {
  const added = caveats.map(writeCaveat)
  const all = [...claims.caveats, ...added]
  if (all.length > MAX_CAVEATS) throw new CairnError('TooLarge', `A token has at most ${MAX_CAVEATS} caveats.`)
  const lastMac = added.reduce(nextMac, mac)
  const text = toBase64url(encodeCbor([...head(tid, claims), all, lastMac]))
  if (text.length > MAX_TOKEN_LENGTH) {
    throw new CairnError(
      'TooLarge',
      `A token has at most ${MAX_TOKEN_LENGTH} characters; this would have ${text.length}.`,
    )
  }
  return text
}

const head = (tid: Uint8Array, { kid, aud, scopes }: Token): unknown[] => [VERSION, tid, kid, aud, [...scopes]]

function firstMac(key: Uint8Array, { claims, tid }: Pick<ReadToken, 'claims' | 'tid'>): Uint8Array {
  return keyedBlake3(key, labelled('cairn-cap/v1 init', encodeCbor(head(tid, claims))))
}

function nextMac(mac: Uint8Array, caveat: RawCaveat): Uint8Array {
  return keyedBlake3(mac, labelled('cairn-cap/v1 caveat', encodeCbor([...caveat])))
}

function labelled(label: string, bytes: Uint8Array): Uint8Array {
  const prefix = new TextEncoder().encode(label)
  const joined = new Uint8Array(prefix.length + bytes.length)
  joined.set(prefix)
  joined.set(bytes, prefix.length)
  return joined
}

/** Whether the token was minted under `key`, the key of its audience, and has every caveat it was given. */
export function isSignedBy(key: Uint8Array, token: ReadToken): boolean {
  return equalSecrets(token.claims.caveats.reduce(nextMac, firstMac(key, token)), token.mac)
}

/** The claims of a token, not verified; refuses anything but the one encoding of a well-formed token. */
export function readToken(text: string): ReadToken {
  if (text.length > MAX_TOKEN_LENGTH) {
    throw new CairnError('TooLarge', `A token has at most ${MAX_TOKEN_LENGTH} characters; this has ${text.length}.`)
  }
  const fields = decodeCbor(fromBase64url(text))
  if (!isList(fields) || fields.length !== 7) throw malformed('it does not have seven fields')
  const [version, tid, kid, aud, scopes, caveats, mac] = fields
  if (version !== VERSION) throw malformed(`its version is not ${VERSION}`)
  if (!isBytes(tid, TID_BYTES) || !isBytes(mac, MAC_BYTES)) throw malformed('its id or its mac has another length')
  if (!isKid(kid) || !isAudience(aud)) throw malformed('its key or its audience is not a known name')
  if (!isScopes(scopes)) throw malformed('its scopes are not a sorted list from the table')
  if (!isCaveats(caveats)) throw malformed(`its caveats are not a list of at most ${MAX_CAVEATS}`)
  return { claims: { tid: toHex(tid), kid, aud, scopes, caveats }, tid, mac }
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)
const isBytes = (value: unknown, length: number): value is Uint8Array =>
  value instanceof Uint8Array && value.length === length

function isScopes(value: unknown): value is Token['scopes'] {
  if (!Array.isArray(value) || value.length === 0) return false
  if (value.length === 1 && value[0] === ANY_SCOPE) return true
  return value.every((scope, index) => isScope(scope) && (index === 0 || value[index - 1] < scope))
}

function isCaveats(value: unknown): value is readonly RawCaveat[] {
  const isCaveat = (item: unknown): boolean => Array.isArray(item) && item.length === 2 && typeof item[0] === 'string'
  return Array.isArray(value) && value.length <= MAX_CAVEATS && value.every(isCaveat)
}

function malformed(problem: string): CairnError {
  return new CairnError('Malformed', `This is not a capability token: ${problem}.`)
}
