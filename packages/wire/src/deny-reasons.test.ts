import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DENY_REASONS } from './caveats.ts'

/** Kind and label of each reason: clients, audits and dashboards depend on them. */
const CONTRACT = {
  token_missing: 'Unauthorized macaroon',
  token_too_large: 'Unauthorized macaroon',
  token_malformed: 'Unauthorized macaroon',
  token_audience: 'Unauthorized aud',
  token_unknown_key: 'Unauthorized macaroon',
  token_retired_key: 'Unauthorized macaroon',
  token_signature: 'Unauthorized macaroon',
  token_revoked: 'Unauthorized macaroon',
  token_expired: 'Unauthorized expired',
  token_not_yet_valid: 'Unauthorized nbf',
  caveat_unknown: 'Forbidden scope',
  caveat_malformed: 'Forbidden scope',
  scope_missing: 'Forbidden scope',
  caveat_scope: 'Forbidden scope',
  caveat_method: 'Forbidden scope',
  caveat_path: 'Forbidden scope',
  caveat_address: 'Forbidden scope',
  caveat_bytes: 'Forbidden scope',
  caveat_ip: 'Forbidden scope',
}

test('what clients and audits depend on has not moved', () => {
  const rows = Object.entries(DENY_REASONS).map(([reason, { kind, label }]) => [reason, `${kind} ${label}`])
  assert.deepEqual(Object.fromEntries(rows), CONTRACT)
})
