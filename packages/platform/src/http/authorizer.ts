import { CairnError, type Clock, type Metrics } from '@cairn/kernel'
import { bearerOf, type CapabilityRequest, DENY_REASONS, type Verdict, type Verifier, verifyBearer } from '@cairn/wire'

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

/** The verdict if it grants; a refusal is counted and thrown. */
export function granted(verdict: Verdict, metrics: Metrics): Verdict & { kind: 'granted' } {
  if (verdict.kind === 'granted') return verdict
  const { kind, label, when } = DENY_REASONS[verdict.reason]
  metrics.count('auth_failures_total', { kind: label })
  throw new CairnError(kind, when, { code: verdict.reason })
}
