/** What a bearer shows, as it is and signed anew. */
import assert from 'node:assert/strict'
import {
  addressOf,
  attenuateToken,
  authenticate,
  type BearerDecision,
  type CapabilityRequest,
  createKeyring,
  decodeCbor,
  deriveKeyring,
  encodeCbor,
  fromBase64url,
  judgeToken,
  mintToken,
  readBundle,
  toBase64url,
} from '@cairn/wire'
import { keyedBlake3 } from '@cairn/wire/testing'
import type { FuzzTarget } from '../fuzzer.ts'
import { attempt, bytesOf, textOf } from '../inputs.ts'

const SAMPLE = addressOf(bytesOf('a sample'))
const RING = deriveKeyring(createKeyring('k1', new Uint8Array(32).fill(5)), 'storage')
const REQUEST: CapabilityRequest = {
  nowMs: 1_700_000_000_000,
  scope: 'storage:write',
  method: 'PUT',
  path: '/o/x',
  address: SAMPLE,
  bodyBytes: 5,
  ip: '10.0.0.7',
}
const BARE = { tid: new Uint8Array(16), aud: 'storage', scopes: ['storage:write'] } as const
const TOKEN = mintToken(RING, BARE)
const NARROW = mintToken(RING, {
  ...BARE,
  caveats: [
    { kind: 'exp', at: 1_700_000_001 },
    { kind: 'nbf', at: 1_600_000_000 },
    { kind: 'method', methods: ['GET', 'PUT'] },
    { kind: 'path_prefix', prefix: '/o' },
    { kind: 'scope_in', scopes: ['storage:write'] },
    { kind: 'address', address: SAMPLE },
    { kind: 'bytes_le', bytes: 5 },
    { kind: 'ip_cidr', block: '10.0.0.0/8' },
  ],
})
const MINTED = [TOKEN, NARROW]

/** `keyed(key, label ‖ CBOR)`, as the format has it. */
function macOf(key: Uint8Array, label: string, value: unknown): Uint8Array {
  return keyedBlake3(key, Buffer.concat([bytesOf(`cairn-cap/v1 ${label}`), encodeCbor(value)]))
}

function verdictOn(text: string): BearerDecision {
  const genuine = authenticate(RING, text)
  if (typeof genuine === 'string') return { kind: 'denied', reason: genuine }
  return judgeToken({ isRevoked: () => false }, genuine, REQUEST)
}

/** What the token claims; nothing if it has not the form of one. */
function claimsOf(
  text: string,
): { readonly head: readonly unknown[]; readonly caveats: readonly unknown[] } | undefined {
  const fields = attempt(() => decodeCbor(fromBase64url(text)))
  if (!Array.isArray(fields) || fields.length !== 7) return undefined
  const caveats: unknown = fields[5]
  return Array.isArray(caveats) ? { head: fields.slice(0, 5), caveats } : undefined
}

/** The token of these claims under the mac that is right for them, as whoever has the key could make it. */
function signed(head: readonly unknown[], caveats: readonly unknown[]): string {
  const key = RING.keys[0]?.secret ?? assert.fail()
  const mac = caveats.reduce<Uint8Array>((last, caveat) => macOf(last, 'caveat', caveat), macOf(key, 'init', [...head]))
  return toBase64url(encodeCbor([...head, [...caveats], mac]))
}

const token: FuzzTarget = {
  name: 'token',
  covers: ['packages/wire/src/token.ts', 'packages/wire/src/bearer.ts', 'packages/wire/src/caveats.ts'],
  seeds: [TOKEN, NARROW, `${TOKEN}.${TOKEN}`, 'x'].map(bytesOf),
  words: ['.', 'A', '_', '-', '=', 'exp', 'nbf', 'method', 'path_prefix', 'scope_in', 'address', 'bytes_le', 'ip_cidr'],
  bytesMax: 2000,
  shape: {
    read: (input) => decodeCbor(fromBase64url(textOf(input))),
    write: (value) => bytesOf(toBase64url(encodeCbor(value))),
  },
  run: (input) => {
    const text = textOf(input)
    const judged = authenticate(RING, text)
    // Nobody finds a mac by chance: whatever counts has a token in it that was minted here.
    if (typeof judged !== 'string')
      assert.ok(
        MINTED.some((minted) => text.includes(minted)),
        'a forged token counts',
      )
    attempt(() => readBundle(text))
    const claims = claimsOf(text)
    if (claims !== undefined) holdClaims(claims.head, claims.caveats)
  },
}

/** A caveat more never allows more, and one that holds changes nothing. */
function holdClaims(head: readonly unknown[], caveats: readonly unknown[]): void {
  const whole = signed(head, caveats)
  const verdict = verdictOn(whole)
  if (verdict.kind === 'denied') return
  const narrowed = attempt(() => attenuateToken(whole, [{ kind: 'method', methods: ['PUT'] }]))
  if (narrowed !== undefined) assert.equal(verdictOn(narrowed).kind, 'granted')
  if (caveats.length === 0) return
  const wider = verdictOn(signed(head, caveats.slice(0, -1)))
  assert.ok(
    wider.kind === 'granted' && wider.maxBytes >= verdict.maxBytes,
    'a caveat allows what was denied without it',
  )
}

export const TARGETS: readonly FuzzTarget[] = [token]
