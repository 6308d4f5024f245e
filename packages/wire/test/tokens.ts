import fc from 'fast-check'
import { addressFromDigest } from '../src/address.ts'
import type { CapabilityRequest, Caveat } from '../src/caveats.ts'
import { createKeyring, deriveKeyring, type Keyring } from '../src/keyring.ts'
import { SCOPES, type Scope } from '../src/scopes.ts'

export const NOW_MS = Date.UTC(2026, 0, 1)
export const NOW = NOW_MS / 1000
export const ROOT: Keyring = createKeyring('k1', new Uint8Array(32).fill(7))
export const STORAGE: Keyring = deriveKeyring(ROOT, 'storage')
export const tid = (seed: number): Uint8Array => new Uint8Array(16).fill(seed)

export const request: CapabilityRequest = {
  nowMs: NOW_MS,
  scope: 'storage:write',
  method: 'PUT',
  path: '/o/x',
  address: addressFromDigest(new Uint8Array(32).fill(1)),
  bodyBytes: 1000,
  ip: '10.1.2.3',
}

const scopeNames = Object.keys(SCOPES) as Scope[]
export const anyScopes = fc.subarray(scopeNames, { minLength: 1, maxLength: 6 })
const anyAddress = fc.constantFrom(1, 2).map((byte) => addressFromDigest(new Uint8Array(32).fill(byte)))

/** Caveats that often hold for `anyRequest`, so that properties are not vacuous. */
export const anyCaveat: fc.Arbitrary<Caveat> = fc.oneof(
  fc.record({ kind: fc.constantFrom('exp', 'nbf'), at: fc.integer({ min: NOW - 120, max: NOW + 120 }) }),
  fc.record({
    kind: fc.constant('method'),
    methods: fc.subarray(['GET', 'PUT', 'POST', 'DELETE'], { minLength: 1 }),
  }),
  fc.record({ kind: fc.constant('path_prefix'), prefix: fc.constantFrom('/', '/o', '/o/x', '/c') }),
  fc.record({ kind: fc.constant('scope_in'), scopes: fc.subarray(scopeNames, { minLength: 1 }) }),
  fc.record({ kind: fc.constant('address'), address: anyAddress }),
  fc.record({ kind: fc.constant('bytes_le'), bytes: fc.nat(4000) }),
  fc.record({ kind: fc.constant('ip_cidr'), block: fc.constantFrom('10.0.0.0/8', '10.1.2.3/32', '0.0.0.0/0', '::/0') }),
)

export const anyRequest: fc.Arbitrary<CapabilityRequest> = fc.record({
  nowMs: fc.integer({ min: NOW_MS - 200_000, max: NOW_MS + 200_000 }),
  scope: fc.constantFrom(...scopeNames),
  method: fc.constantFrom('GET', 'PUT', 'POST', 'DELETE'),
  path: fc.constantFrom('/o', '/o/x', '/o/x/y', '/ox', '/c/z', '/'),
  address: anyAddress,
  bodyBytes: fc.nat(4000),
  ip: fc.constantFrom('10.1.2.3', '::ffff:10.1.2.3', '192.0.2.1', '2001:db8::1'),
})
