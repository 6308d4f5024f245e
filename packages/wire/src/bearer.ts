/**
 * From an `Authorization` header to a decision.
 *
 *   Bearer aaa.bbb.ccc          one token per service, joined by dots
 *          │   └── aud = mine → key known? → signed?      the same for as long as the keyring is
 *          │            → key retired? → revoked? → every caveat? → scope? → grant      asked each time
 *          └── another service's: left alone
 */
import { CairnError, isKind } from '@cairn/kernel'
import { type CapabilityRequest, type DenyReason, denialOf, readCaveat } from './caveats.ts'
import { isRetired, type Keyring, type KeyringKey } from './keyring.ts'
import { ANY_SCOPE, BROUGHT_BY } from './scopes.ts'
import { isSignedBy, type ReadToken, readToken, type Token } from './token.ts'

const MAX_BUNDLE_TOKENS = 8
const MAX_BUNDLE_LENGTH = 12 * 1024

/** Several tokens as one bearer; at most one for each service. */
export function joinTokens(tokens: readonly string[]): string {
  const bundle = tokens.join('.')
  readBundle(bundle)
  return bundle
}

/** The tokens of a bearer, not verified. */
export function readBundle(bundle: string): readonly ReadToken[] {
  if (bundle.length > MAX_BUNDLE_LENGTH) {
    throw new CairnError('TooLarge', `A bundle has at most ${MAX_BUNDLE_LENGTH} characters; this has ${bundle.length}.`)
  }
  const texts = bundle.split('.')
  if (texts.length > MAX_BUNDLE_TOKENS) {
    throw new CairnError('TooLarge', `A bundle has at most ${MAX_BUNDLE_TOKENS} tokens; this has ${texts.length}.`)
  }
  const tokens = texts.map(readToken)
  if (new Set(tokens.map((token) => token.claims.aud)).size !== tokens.length) {
    throw new CairnError('Malformed', 'A bundle has at most one token for each service.')
  }
  return tokens
}

/** The bearer in an `Authorization` header of scheme Bearer, Macaroon or Capability; nothing for any other header. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^(?:bearer|macaroon|capability) +([A-Za-z0-9_.-]+)$/i.exec(authorization?.trim() ?? '')?.[1]
}

export type BearerDecision =
  | {
      readonly kind: 'granted'
      readonly token: Token
      /** The most decoded body bytes the caveats allow; the reader of the body must stop there. */
      readonly maxBytes: number
    }
  | { readonly kind: 'denied'; readonly reason: DenyReason }

export interface Verifier {
  /** The ring of the service that asks. */
  readonly keyring: Keyring
  readonly isRevoked: (tid: string) => boolean
}

/** A token that was signed for the holder of the ring, and by which key. It may still be of no use. */
export interface AuthenticToken {
  readonly token: Token
  readonly key: KeyringKey
}

/** Whether this bearer allows this request at the service that holds `verifier.keyring`. */
export function verifyBearer(
  verifier: Verifier,
  bearer: string | undefined,
  request: CapabilityRequest,
): BearerDecision {
  const authentic = authenticate(verifier.keyring, bearer)
  return typeof authentic === 'string' ? denied(authentic) : judgeToken(verifier, authentic, request)
}

/**
 * Returns the token for the holder of the ring, if it is genuine, else why it must not be believed. The answer is the
 * same as long as the ring is: a caller may cache it, but must call `judgeToken` for every request.
 */
export function authenticate(keyring: Keyring, bearer: string | undefined): AuthenticToken | DenyReason {
  if (bearer === undefined || bearer === '') return 'token_missing'
  const tokens = tryRead(bearer)
  if (typeof tokens === 'string') return tokens
  const token = tokens.find(({ claims }) => claims.aud === keyring.holder)
  if (token === undefined) return 'token_audience'
  const key = keyring.keys.find(({ kid }) => kid === token.claims.kid)
  if (key === undefined) return 'token_unknown_key'
  return isSignedBy(key.secret, token) ? { token: token.claims, key } : 'token_signature'
}

/** Whether a genuine token allows this request, now. */
export function judgeToken(
  { isRevoked }: Pick<Verifier, 'isRevoked'>,
  { token, key }: AuthenticToken,
  request: CapabilityRequest,
): BearerDecision {
  if (isRetired(key, request.nowMs)) return denied('token_retired_key')
  if (isRevoked(token.tid)) return denied('token_revoked')
  return judge(token, request)
}

function tryRead(bearer: string): readonly ReadToken[] | DenyReason {
  try {
    return readBundle(bearer)
  } catch (error) {
    if (isKind(error, 'TooLarge')) return 'token_too_large'
    if (isKind(error, 'Malformed')) return 'token_malformed'
    throw error
  }
}

function judge(token: Token, request: CapabilityRequest): BearerDecision {
  let maxBytes = Number.POSITIVE_INFINITY
  for (const raw of token.caveats) {
    const caveat = readCaveat(raw)
    const denial = typeof caveat === 'string' ? caveat : denialOf(caveat, request)
    if (denial !== undefined) return denied(denial)
    if (typeof caveat !== 'string' && caveat.kind === 'bytes_le') maxBytes = Math.min(maxBytes, caveat.bytes)
  }
  // After the caveats, so that the bearer of an expired token learns to renew it, not that it lacks a scope.
  const enough = [ANY_SCOPE, request.scope, BROUGHT_BY[request.scope]]
  if (!token.scopes.some((scope) => enough.includes(scope))) return denied('scope_missing')
  return { kind: 'granted', token, maxBytes }
}

function denied(reason: DenyReason): BearerDecision {
  return { kind: 'denied', reason }
}
