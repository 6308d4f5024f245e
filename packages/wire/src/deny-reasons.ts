/** Every reason for which a capability is refused: stable strings, fit for the `code` of a problem and for the audit. */

export interface DenyRow {
  /** `Unauthorized`: present another token. `Forbidden`: this one is genuine but does not allow the request. */
  readonly kind: 'Unauthorized' | 'Forbidden'
  /** The label under which failures are counted. */
  readonly label: 'macaroon' | 'scope' | 'expired' | 'nbf' | 'aud'
  readonly when: string
}

export const DENY_REASONS = {
  token_missing: { kind: 'Unauthorized', label: 'macaroon', when: 'No capability was presented; send one.' },
  token_too_large: { kind: 'Unauthorized', label: 'macaroon', when: 'The token or the bundle exceeds its size limit.' },
  token_malformed: { kind: 'Unauthorized', label: 'macaroon', when: 'The text is not a token in its one encoding.' },
  token_audience: { kind: 'Unauthorized', label: 'aud', when: 'No token of the bundle is for this service.' },
  token_unknown_key: { kind: 'Unauthorized', label: 'macaroon', when: 'The key that signed it is not in the keyring.' },
  token_retired_key: { kind: 'Unauthorized', label: 'macaroon', when: 'The key that signed it was rotated out.' },
  token_signature: { kind: 'Unauthorized', label: 'macaroon', when: 'The signature does not match the content.' },
  token_revoked: { kind: 'Unauthorized', label: 'macaroon', when: 'The token is on the deny-list.' },
  token_expired: { kind: 'Unauthorized', label: 'expired', when: 'The time of `exp` has passed.' },
  token_not_yet_valid: { kind: 'Unauthorized', label: 'nbf', when: 'The time of `nbf` has not come.' },
  caveat_unknown: { kind: 'Forbidden', label: 'scope', when: 'A caveat is of a kind this node does not know.' },
  caveat_malformed: { kind: 'Forbidden', label: 'scope', when: 'The value of a caveat makes no sense.' },
  scope_missing: { kind: 'Forbidden', label: 'scope', when: 'The token does not carry the scope of this route.' },
  caveat_scope: { kind: 'Forbidden', label: 'scope', when: 'A caveat narrows the token to other scopes.' },
  caveat_method: { kind: 'Forbidden', label: 'scope', when: 'A caveat narrows the token to other methods.' },
  caveat_path: { kind: 'Forbidden', label: 'scope', when: 'A caveat narrows the token to other paths.' },
  caveat_address: { kind: 'Forbidden', label: 'scope', when: 'A caveat narrows the token to another object.' },
  caveat_bytes: { kind: 'Forbidden', label: 'scope', when: 'The body is larger than a caveat allows.' },
  caveat_ip: { kind: 'Forbidden', label: 'scope', when: 'A caveat narrows the token to other peers.' },
} as const satisfies Record<string, DenyRow>

export type DenyReason = keyof typeof DENY_REASONS
