import { CairnError } from '@cairn/kernel'
import type { Scope } from '@cairn/wire'

/** What a client may do in its owner's name: the scopes it was given, and the token that proves them. */
export interface ScopeGrant {
  readonly scopes: readonly Scope[]
  /** The bearer to present. Asked for each call, so that a rotated token is used at once. */
  bearer(): Promise<string>
}

/** For clients that only use open routes. */
export const NO_SCOPES: ScopeGrant = {
  scopes: [],
  bearer: () => Promise.reject(new CairnError('Internal', 'A client without scopes was asked for a token.')),
}

/** Throws `Forbidden`, before anything is sent, if the client was not given the scope. */
export function requireScope(grant: ScopeGrant, scope: Scope, target: string): void {
  if (grant.scopes.includes(scope)) return
  throw new CairnError('Forbidden', `This client of ${target} was not given ${scope}.`, { code: 'scope_not_granted' })
}
