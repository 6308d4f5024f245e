import { CairnError, type Clock, isKind, type Metrics } from '@cairn/kernel'
import {
  type AuthenticToken,
  authenticate,
  type BearerDecision,
  bearerOf,
  type CapabilityRequest,
  DENY_REASONS,
  type DenyReason,
  judgeToken,
  type Keyring,
  parseAddress,
  type Scope,
  type Verifier,
} from '@cairn/wire'
import { declaredLength } from '../request/body.ts'
import type { Exchange } from './exchange.ts'

/** Decides whether what the `Authorization` header carries allows the request. */
export interface Authorizer {
  authorize(authorization: string | undefined, request: Omit<CapabilityRequest, 'nowMs'>): BearerDecision
}

/** Capability tokens, held against the ring and the deny-list in force at the moment of each request. */
export function capabilityAuthorizer(clock: Clock, verifier: () => Verifier): Authorizer {
  const genuine = new GenuineTokens()
  return {
    authorize: (authorization, request) => {
      const now = verifier()
      const token = genuine.read(now.keyring, authorization)
      if (typeof token === 'string') return { kind: 'denied', reason: token }
      return judgeToken(now, token, { ...request, nowMs: clock.wall() })
    },
  }
}

/** A bearer has at most 12 KiB, so this many are at most 3 MiB. */
const TOKENS_MAX = 256

/**
 * Tokens found genuine, by the exact header they came in: to read and check one costs more than the rest of a request.
 * All are forgotten when the ring changes. What a token may do, and whether it was taken back, is never remembered.
 */
class GenuineTokens {
  readonly #tokens = new Map<string, AuthenticToken>()
  #keyring: Keyring | undefined

  read(keyring: Keyring, authorization: string | undefined): AuthenticToken | DenyReason {
    if (authorization === undefined) return 'token_missing'
    if (this.#keyring !== keyring) {
      this.#tokens.clear()
      this.#keyring = keyring
    }
    const known = this.#tokens.get(authorization)
    if (known !== undefined) return known
    const token = authenticate(keyring, bearerOf(authorization))
    if (typeof token !== 'string') this.#keep(authorization, token)
    return token
  }

  #keep(authorization: string, token: AuthenticToken): void {
    const [oldest] = this.#tokens.keys()
    if (this.#tokens.size >= TOKENS_MAX && oldest !== undefined) this.#tokens.delete(oldest)
    this.#tokens.set(authorization, token)
  }
}

/** For services that have no route with a scope; every scope is refused. */
export const NO_CAPABILITIES: Authorizer = { authorize: () => ({ kind: 'denied', reason: 'token_unknown_key' }) }

/** Lets the request in with its capability, or throws why not; refusals are counted. */
export function authorize(
  authorizer: Authorizer,
  exchange: Exchange,
  scope: Scope,
  address: string | undefined,
  metrics: Metrics,
): void {
  const { headers, method, path, clientAddress: ip } = exchange
  const isCoded = headers.slot('content-encoding') !== undefined
  const bodyBytes = isCoded ? undefined : declaredLength(headers.slot('content-length'))
  const verdict = authorizer.authorize(headers.slot('authorization'), {
    scope,
    method,
    path,
    ...(address === undefined ? {} : addressOf(address)),
    ...(bodyBytes === undefined ? {} : { bodyBytes }),
    ...(ip === '' ? {} : { ip }),
  })
  if (verdict.kind === 'denied') {
    const { kind, label, when } = DENY_REASONS[verdict.reason]
    metrics.count('auth_failures_total', { kind: label })
    throw new CairnError(kind, when, { code: verdict.reason })
  }
  exchange.token = verdict.token
  exchange.tokenBytesMax = verdict.maxBytes
}

/** The object a route is about, for caveats that name one; a malformed address is the handler's to refuse. */
function addressOf(text: string): { address?: ReturnType<typeof parseAddress> } {
  try {
    return { address: parseAddress(text) }
  } catch (error) {
    if (isKind(error, 'Malformed')) return {}
    throw error
  }
}
