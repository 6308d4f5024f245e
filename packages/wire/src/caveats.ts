/**
 * Caveats, the paths they restrict, and the reasons for which a capability is refused. A caveat is a condition added to
 * a token; all of them must hold. Adding one needs no key and can only narrow.
 *
 * On the wire each is `[kind, value]`; a kind this node does not know, or a value that makes no sense, denies.
 */
import { CairnError } from '@cairn/kernel'
import { type Address, addressFromDigest, digestOf } from './address.ts'
import { blockContains, parseIp, parseIpBlock } from './ip.ts'
import { isScope, type Scope } from './scopes.ts'

/** `%2f %5c %2e %00`: an encoded separator, dot or NUL changes meaning when a later reader decodes it. */
const AMBIGUOUS_ESCAPE = /%(?:2f|5c|2e|00)/i
const UNRESERVED = /^[A-Za-z0-9._~-]$/
/** The characters of a URI path, and escapes. */
const PATH = /^(?:\/|[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+$/

/**
 * The normal form of a path without query (unreserved characters unescaped, escapes in upper case), or nothing if it
 * is ambiguous: not absolute, with `//` or dot segments, with an escaped separator, dot or NUL, or not a URI path.
 */
export function normalisePath(path: string): string | undefined {
  if (!path.startsWith('/') || !PATH.test(path) || AMBIGUOUS_ESCAPE.test(path) || path.includes('//')) return undefined
  if (path.split('/').some((segment) => segment === '.' || segment === '..')) return undefined
  return path.replace(/%[0-9A-Fa-f]{2}/g, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
    return UNRESERVED.test(character) ? character : escape.toUpperCase()
  })
}

/** Whether `path` is `prefix` or lies below it, segment by segment; both are in normal form. */
export function isUnder(path: string, prefix: string): boolean {
  return prefix === '/' || path === prefix || path.startsWith(`${prefix}/`)
}

export interface DenyRow {
  /** `Unauthorized`: present another token. `Forbidden`: this one is genuine but does not allow the request. */
  readonly kind: 'Unauthorized' | 'Forbidden'
  /** The label under which failures are counted. */
  readonly label: 'macaroon' | 'scope' | 'expired' | 'nbf' | 'aud'
  readonly when: string
}

/** Every reason for which a capability is refused: stable strings, fit for the `code` of a problem and for the audit. */
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

export type Caveat =
  /** Unix seconds; the token is good before `exp` and from `nbf` on, give or take the skew. */
  | { readonly kind: 'exp' | 'nbf'; readonly at: number }
  | { readonly kind: 'method'; readonly methods: readonly string[] }
  /** Whole segments of the normalised path: `/o` covers `/o` and `/o/x`, not `/ox`. */
  | { readonly kind: 'path_prefix'; readonly prefix: string }
  | { readonly kind: 'scope_in'; readonly scopes: readonly Scope[] }
  | { readonly kind: 'address'; readonly address: Address }
  /** Decoded bytes of the request body. */
  | { readonly kind: 'bytes_le'; readonly bytes: number }
  | { readonly kind: 'ip_cidr'; readonly block: string }

/** A caveat as it is encoded and signed, known or not. */
export type RawCaveat = readonly [kind: string, value: unknown]

/** What the caveats are held against. */
export interface CapabilityRequest {
  readonly nowMs: number
  readonly scope: Scope
  readonly method: string
  /** Path without query. */
  readonly path: string
  /** The object the request is about, if it is about one. */
  readonly address?: Address
  /** Decoded size of the body where it is known beforehand; otherwise the caller enforces `maxBytes` as it reads. */
  readonly bodyBytes?: number
  /** The peer's address; absent on a Unix socket. */
  readonly ip?: string
}

/** Clocks of honest machines differ by less. */
const SKEW_MS = 60_000

/** The encoded form; a value that no verifier would accept is refused here, where its author can still mend it. */
export function writeCaveat(caveat: Caveat): RawCaveat {
  const raw = rawOf(caveat)
  if (typeof readCaveat(raw) === 'string') {
    throw new CairnError('Malformed', `The caveat ${caveat.kind} has no valid value: ${JSON.stringify(caveat)}.`)
  }
  return raw
}

function rawOf(caveat: Caveat): RawCaveat {
  switch (caveat.kind) {
    case 'exp':
    case 'nbf':
      return [caveat.kind, caveat.at]
    case 'method':
      return [caveat.kind, [...new Set(caveat.methods)].sort()]
    case 'path_prefix':
      return [caveat.kind, caveat.prefix]
    case 'scope_in':
      return [caveat.kind, [...new Set(caveat.scopes)].sort()]
    case 'address':
      return [caveat.kind, digestOf(caveat.address)]
    case 'bytes_le':
      return [caveat.kind, caveat.bytes]
    case 'ip_cidr':
      return [caveat.kind, caveat.block]
  }
}

/** The typed form of an encoded caveat, or the reason why it denies. */
export function readCaveat([kind, value]: RawCaveat): Caveat | 'caveat_unknown' | 'caveat_malformed' {
  switch (kind) {
    case 'exp':
    case 'nbf':
      return isCount(value) ? { kind, at: value } : 'caveat_malformed'
    case 'method':
      return isSortedList(value, isMethod) ? { kind, methods: value } : 'caveat_malformed'
    case 'path_prefix':
      return isPrefix(value) ? { kind, prefix: value } : 'caveat_malformed'
    case 'scope_in':
      return isSortedList(value, isScope) ? { kind, scopes: value } : 'caveat_malformed'
    case 'address':
      return isDigest(value) ? { kind, address: addressFromDigest(value) } : 'caveat_malformed'
    case 'bytes_le':
      return isCount(value) ? { kind, bytes: value } : 'caveat_malformed'
    case 'ip_cidr':
      return isBlock(value) ? { kind, block: value } : 'caveat_malformed'
    default:
      return 'caveat_unknown'
  }
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
const isMethod = (value: unknown): value is string => typeof value === 'string' && /^[A-Z]{1,16}$/.test(value)
const isDigest = (value: unknown): value is Uint8Array => value instanceof Uint8Array && value.length === 32
const isBlock = (value: unknown): value is string => typeof value === 'string' && parseIpBlock(value) !== undefined
const isPrefix = (value: unknown): value is string =>
  typeof value === 'string' && normalisePath(value) === value && (value === '/' || !value.endsWith('/'))

function isSortedList<Item extends string>(
  value: unknown,
  isItem: (item: unknown) => item is Item,
): value is readonly Item[] {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isItem)) return false
  return value.every((item, index) => index === 0 || (value[index - 1] ?? '') < item)
}

/** Nothing if the caveat holds for this request, else the reason why it does not. */
export function denialOf(caveat: Caveat, request: CapabilityRequest): DenyReason | undefined {
  switch (caveat.kind) {
    case 'exp':
      return request.nowMs < caveat.at * 1000 + SKEW_MS ? undefined : 'token_expired'
    case 'nbf':
      return request.nowMs >= caveat.at * 1000 - SKEW_MS ? undefined : 'token_not_yet_valid'
    case 'method':
      return caveat.methods.includes(request.method) ? undefined : 'caveat_method'
    case 'path_prefix': {
      const path = normalisePath(request.path)
      return path !== undefined && isUnder(path, caveat.prefix) ? undefined : 'caveat_path'
    }
    case 'scope_in':
      return caveat.scopes.includes(request.scope) ? undefined : 'caveat_scope'
    case 'address':
      return request.address === caveat.address ? undefined : 'caveat_address'
    case 'bytes_le':
      return (request.bodyBytes ?? 0) <= caveat.bytes ? undefined : 'caveat_bytes'
    case 'ip_cidr':
      return isPeerIn(caveat.block, request.ip) ? undefined : 'caveat_ip'
  }
}

function isPeerIn(blockText: string, ipText: string | undefined): boolean {
  const block = parseIpBlock(blockText)
  // A link-local peer carries its interface as "%eth0", which says nothing about its address.
  const ip = parseIp(ipText?.split('%')[0] ?? '')
  return block !== undefined && ip !== undefined && blockContains(block, ip)
}
