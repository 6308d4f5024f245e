/** `cairn token …` */
import { CairnError, SystemClock } from '@cairn/kernel'
import {
  ANY_SCOPE,
  attenuateToken,
  type Caveat,
  formatByteSize,
  isAudience,
  isScope,
  joinTokens,
  parseByteSize,
  parseDuration,
  readBundle,
  readCaveat,
  SCOPES,
  type Scope,
  type Token,
} from '@cairn/wire'
import { type CommandArguments, type CommandContext, type CommandHandler, dataFlag, tokenPath } from './command.ts'
import { readToken } from './credentials.ts'
import { withNode } from './node-admin.ts'
import { findNearest } from './suggestions.ts'

// What a token says, in words. Claims only: whether they hold is for the service to tell, which has the key.

export interface TokenDescription {
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
export function claimsOf(bundle: string, nowMs: number): TokenDescription[] {
  return readBundle(bundle).map(({ claims }) => described(claims, nowMs))
}

function described({ aud, scopes, caveats, tid, kid }: Token, nowMs: number): TokenDescription {
  const read = caveats.map((raw) => ({ kind: raw[0], caveat: readCaveat(raw) }))
  const ends = read.flatMap(({ caveat }) => (typeof caveat !== 'string' && caveat.kind === 'exp' ? [caveat.at] : []))
  const endMs = Math.min(...ends) * 1000
  return {
    for: aud,
    scopes: scopes.map((scope) => (scope === ANY_SCOPE ? 'everything' : scope)),
    caveats: read.map(({ kind, caveat }) => ({ kind, says: describeCaveat(caveat) })),
    expires: ends.length === 0 ? null : instant(endMs),
    is_expired: nowMs >= endMs,
    tid,
    kid,
  }
}

function describeCaveat(caveat: ReturnType<typeof readCaveat>): string {
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

/** Asks the node for a token. */
export const mint: CommandHandler = async (context) => {
  const { given } = context
  const aud = given.text('for')
  const scopes = scopesOf(given)
  if (!isAudience(aud) || scopes.length === 0)
    throw usage('Say which service the token is for and what it allows: --for storage --scope storage:write.')
  const { ttlMs, prefix, methods, maxBytes } = limitsOf(given)
  const { token } = await withNode(context, async (node) => {
    return await node.mint({
      aud,
      scopes,
      ...(ttlMs === undefined ? {} : { ttl_s: Math.max(1, Math.floor(ttlMs / 1000)) }),
      ...(prefix === undefined ? {} : { path_prefix: prefix }),
      ...(methods.length === 0 ? {} : { methods }),
      ...(maxBytes === undefined ? {} : { max_bytes: maxBytes }),
    })
  })
  const [claims] = claimsOf(token, wallNow())
  const warnings = ttlMs === undefined ? ['this token has no end; --ttl gives it one'] : []
  return { result: { token, ...claims }, data: `${token}\n`, message: `for ${aud}: ${scopes.join(', ')}`, warnings }
}

/** Narrows a token, or each token of a bundle. */
export const attenuate: CommandHandler = async (context) => {
  const { given } = context
  const caveats = caveatsOf(given)
  const bundle = await givenToken(context)
  const texts = bundle.split('.')
  const aud = given.text('for')
  const chosen = readBundle(bundle).flatMap(({ claims }, index) =>
    aud === undefined || claims.aud === aud ? [texts[index] ?? ''] : [],
  )
  if (chosen.length === 0) throw new CairnError('NotFound', `This token is not for ${aud ?? 'any service'}.`)
  if (caveats.length === 0 && chosen.length === texts.length)
    throw usage('Say what to take away: --scope, --ttl, --path, --method or --max-bytes.')
  const token = joinTokens(chosen.map((text) => attenuateToken(text, caveats)))
  const claims = claimsOf(token, wallNow())
  return {
    result: { token, tokens: claims },
    data: `${token}\n`,
    message: `narrowed; for ${claims.map(({ for: aud }) => aud).join(', ')}`,
  }
}

/** Says what a token claims. */
export const inspect: CommandHandler = async (context) => {
  const tokens = claimsOf(await givenToken(context), wallNow())
  const rows = (token: TokenDescription): [string, string][] => [
    ['for', token.for],
    ['allows', token.scopes.join(', ')],
    ...token.caveats.filter(({ kind }) => kind !== 'exp').map(({ says }): [string, string] => ['only', says]),
    ['until', token.expires ?? 'it is revoked'],
    ['tid', token.tid],
    ['kid', token.kid],
  ]
  const text = tokens.map((token) =>
    rows(token)
      .map(([name, value]) => `${name.padEnd(7)} ${value}\n`)
      .join(''),
  )
  const warnings = tokens
    .filter(({ is_expired }) => is_expired)
    .map((token) => `the token for ${token.for} has expired`)
  return { result: { tokens }, data: text.join('\n'), warnings }
}

export const rotate: CommandHandler = async (context) => {
  const { kid } = await withNode(context, async (node) => await node.rotate())
  return {
    result: { kid },
    data: `${kid}\n`,
    message: 'new root and new admin token; tokens of the former root are good for a day more',
    next: [`npx cairn token mint${dataFlag(context.given)} --for storage --scope storage:write --ttl 30d`],
  }
}

export const revoke: CommandHandler = async (context) => {
  const tid = context.given.operands[0] ?? ''
  if (!/^[0-9a-f]{32}$/.test(tid))
    throw usage('TID is 32 hexadecimal digits; `cairn token inspect` shows the one of a token.')
  const result = await withNode(context, async (node) => await node.revoke(tid))
  return { result, message: `${tid} is refused from now on` }
}

async function givenToken({ given, terminal }: CommandContext): Promise<string> {
  const [operand] = given.operands
  if (operand === '-') return (await terminal.readInput()).trim()
  return operand ?? (await readToken(tokenPath(given, terminal.environment)))
}

function limitsOf(given: CommandArguments) {
  const [ttl, maxBytes] = [given.text('ttl'), given.text('max-bytes')]
  return {
    ttlMs: ttl === undefined ? undefined : parseDuration(ttl),
    prefix: given.text('path'),
    methods: given.texts('method').map((method) => method.toUpperCase()),
    maxBytes: maxBytes === undefined ? undefined : parseByteSize(maxBytes),
  }
}

function caveatsOf(given: CommandArguments): Caveat[] {
  const { ttlMs, prefix, methods, maxBytes } = limitsOf(given)
  const scopes = scopesOf(given)
  const caveats: Caveat[] = []
  if (scopes.length > 0) caveats.push({ kind: 'scope_in', scopes })
  if (ttlMs !== undefined) caveats.push({ kind: 'exp', at: Math.floor((wallNow() + ttlMs) / 1000) })
  if (prefix !== undefined) caveats.push({ kind: 'path_prefix', prefix })
  if (methods.length > 0) caveats.push({ kind: 'method', methods })
  if (maxBytes !== undefined) caveats.push({ kind: 'bytes_le', bytes: maxBytes })
  return caveats
}

function scopesOf(given: CommandArguments): Scope[] {
  return given.texts('scope').map((text) => {
    if (isScope(text)) return text
    throw usage(`There is no scope ${text}; ${scopesLike(text)}`)
  })
}

/** The scopes of the service that was meant, where one was; the nearest of them is easily the wrong one. */
function scopesLike(text: string): string {
  const all = Object.keys(SCOPES)
  const [service = '', verb = ''] = text.split(':')
  const own = all.filter((scope) => scope.startsWith(`${service}:`))
  const meant = findNearest(
    verb,
    own.map((scope) => scope.slice(service.length + 1)),
  )
  if (meant !== undefined) return `did you mean ${service}:${meant}?`
  if (own.length > 0) return `those of ${service} are ${own.join(', ')}.`
  const near = findNearest(text, all)
  return near === undefined ? `they are ${all.join(', ')}.` : `did you mean ${near}?`
}

function wallNow(): number {
  return new SystemClock().wall()
}

function usage(detail: string): CairnError {
  return new CairnError('Malformed', detail, { code: 'usage' })
}
