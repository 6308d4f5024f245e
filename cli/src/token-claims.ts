/** What a token says, in words. Claims only: whether they hold is for the service to tell, which has the key. */
import { ANY_SCOPE, formatByteSize, readBundle, readCaveat, type Token } from '@cairn/wire'

export interface Described {
  readonly for: string
  readonly scopes: readonly string[]
  readonly caveats: readonly { readonly kind: string; readonly says: string }[]
  /** The earliest of its ends. */
  readonly expires: string | null
  readonly is_expired: boolean
  readonly tid: string
  readonly kid: string
}

/** Each token of a bundle; no part of any secret. */
export function claimsOf(bundle: string, nowMs: number): Described[] {
  return readBundle(bundle).map(({ claims }) => described(claims, nowMs))
}

function described({ aud, scopes, caveats, tid, kid }: Token, nowMs: number): Described {
  const read = caveats.map((raw) => ({ kind: raw[0], caveat: readCaveat(raw) }))
  const ends = read.flatMap(({ caveat }) => (typeof caveat !== 'string' && caveat.kind === 'exp' ? [caveat.at] : []))
  const endMs = Math.min(...ends) * 1000
  return {
    for: aud,
    scopes: scopes.map((scope) => (scope === ANY_SCOPE ? 'everything' : scope)),
    caveats: read.map(({ kind, caveat }) => ({ kind, says: sayCaveat(caveat) })),
    expires: ends.length === 0 ? null : instant(endMs),
    is_expired: nowMs >= endMs,
    tid,
    kid,
  }
}

function sayCaveat(caveat: ReturnType<typeof readCaveat>): string {
  if (typeof caveat === 'string') return 'nothing: a caveat this program does not understand'
  switch (caveat.kind) {
    case 'exp':
      return `before ${instant(caveat.at * 1000)}`
    case 'nbf':
      return `from ${instant(caveat.at * 1000)} on`
    case 'method':
      return `the methods ${caveat.methods.join(', ')}`
    case 'path_prefix':
      return `paths below ${caveat.prefix}`
    case 'scope_in':
      return `the scopes ${caveat.scopes.join(', ')}`
    case 'address':
      return `the object ${caveat.address}`
    case 'bytes_le':
      return `bodies up to ${formatByteSize(caveat.bytes)}`
    case 'ip_cidr':
      return `clients in ${caveat.block}`
  }
}

function instant(ms: number): string {
  return new Date(ms).toISOString()
}
