/**
 * From an `Authorization` header to a decision.
 *
 *   Bearer aaa.bbb.ccc          one token per service, joined by dots
 *          │   └── aud = mine → key known? → signed? → revoked? → every caveat? → scope? → grant
 *          └── another service's: left alone
 */
import { CairnError, isKind } from '@cairn/kernel'
import { type CapabilityRequest, denialOf, readCaveat } from './caveats.ts'
import type { DenyReason } from './deny-reasons.ts'
import { isRetired, type Keyring } from './keyring.ts'
import { ANY_SCOPE } from './scopes.ts'
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

export type Verdict =
  | {
      readonly kind: 'granted'
      readonly token: Token
      /** The most decoded body bytes the caveats allow; whoever reads the body must stop there. */
      readonly maxBytes: number
    }
  | { readonly kind: 'denied'; readonly reason: DenyReason }

export interface Verifier {
  /** The ring of the service that asks. */
  readonly keyring: Keyring
  readonly isRevoked: (tid: string) => boolean
}

/** Whether this bearer allows this request at the service that holds `verifier.keyring`. */
export function verifyBearer(verifier: Verifier, bearer: string | undefined, request: CapabilityRequest): Verdict {
  if (bearer === undefined || bearer === '') return denied('token_missing')
  const tokens = tryRead(bearer)
  if (typeof tokens === 'string') return denied(tokens)
  const token = tokens.find(({ claims }) => claims.aud === verifier.keyring.holder)
  if (token === undefined) return denied('token_audience')
  const distrust = distrustOf(verifier, token, request.nowMs)
  return distrust === undefined ? judge(token.claims, request) : denied(distrust)
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

/** Why the claims must not be believed, if so. Nothing in a token is acted on before this. */
function distrustOf(verifier: Verifier, token: ReadToken, nowMs: number): DenyReason | undefined {
  const key = verifier.keyring.keys.find(({ kid }) => kid === token.claims.kid)
  if (key === undefined) return 'token_unknown_key'
  if (isRetired(key, nowMs)) return 'token_retired_key'
  if (!isSignedBy(key.secret, token)) return 'token_signature'
  if (verifier.isRevoked(token.claims.tid)) return 'token_revoked'
  return undefined
}

function judge(token: Token, request: CapabilityRequest): Verdict {
  let maxBytes = Number.POSITIVE_INFINITY
  for (const raw of token.caveats) {
    const caveat = readCaveat(raw)
    const denial = typeof caveat === 'string' ? caveat : denialOf(caveat, request)
    if (denial !== undefined) return denied(denial)
    if (typeof caveat !== 'string' && caveat.kind === 'bytes_le') maxBytes = Math.min(maxBytes, caveat.bytes)
  }
  // After the caveats, so that an expired token is told to be renewed rather than that it lacks a scope.
  if (!token.scopes.some((scope) => scope === ANY_SCOPE || scope === request.scope)) return denied('scope_missing')
  return { kind: 'granted', token, maxBytes }
}

function denied(reason: DenyReason): Verdict {
  return { kind: 'denied', reason }
}
