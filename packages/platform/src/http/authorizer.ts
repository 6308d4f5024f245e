import { CairnError, type Clock, isKind, type Metrics } from '@cairn/kernel'
import {
  bearerOf,
  type CapabilityRequest,
  DENY_REASONS,
  parseAddress,
  type Scope,
  type Verdict,
  type Verifier,
  verifyBearer,
} from '@cairn/wire'
import { declaredLength } from './body.ts'
import type { Exchange } from './exchange.ts'

/** Decides whether what the `Authorization` header carries allows the request. */
export interface Authorizer {
  authorize(authorization: string | undefined, request: Omit<CapabilityRequest, 'nowMs'>): Verdict
}

/** Capability tokens, held against the ring and the deny-list in force at the moment of each request. */
export function capabilityAuthorizer(clock: Clock, verifier: () => Verifier): Authorizer {
  return {
    authorize: (authorization, request) =>
      verifyBearer(verifier(), bearerOf(authorization), { ...request, nowMs: clock.wall() }),
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
