/** Sign-in to the console, and what a request must show to act as a session. */
import { createHash } from 'node:crypto'
import type { RequestContext } from '@cairn/http'
import { CairnError, type Clock, type Random } from '@cairn/kernel'
import { AUDIENCES, authenticate, toHex } from '@cairn/wire'
import type { TokenKeys } from '../token-keys.ts'
import {
  CODE_MS,
  countWrongTry,
  createSessionTable,
  IDLE_MS,
  keepCode,
  listSessions,
  mayTry,
  openSession,
  redeem,
  revokeSession,
  type Session,
  type SignInSource,
  triesAgainMs,
  useSession,
} from './sessions-core.ts'

/** The second half of a session, which no browser sends by itself. */
const PROOF_HEADER = 'x-cairn-session'

type Head = RequestContext<unknown, unknown, unknown>

export interface SessionFacts {
  readonly id: string
  readonly since: number
  readonly last_used: number
  readonly expires_at: number
  readonly by: SignInSource
}

export interface OpenedSession {
  readonly facts: SessionFacts
  readonly proof: string
  /** The value of `Set-Cookie`. */
  readonly cookie: string
}

export interface ConsoleSessionsOptions {
  readonly clock: Clock
  readonly random: Random
  readonly keys: Pick<TokenKeys, 'adminBundle' | 'verifier'>
  /** Somebody is about to open the page. */
  readonly onCode: () => void
}

export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions
  readonly #table = createSessionTable()

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options
  }

  /** A code that signs in once, within the next ten minutes. */
  mintCode(): { readonly code: string; readonly expiresInS: number } {
    const { clock, random, onCode } = this.#options
    const digits = toHex(random.bytes(12))
    keepCode(this.#table, hashed(digits), clock.now())
    onCode()
    return { code: digits.replaceAll(/(.{6})(?!$)/g, '$1-'), expiresInS: CODE_MS / 1000 }
  }

  /** Opens a session with a code or a token; throws why not. */
  signIn(given: string, head: Head): OpenedSession {
    refuseForeign(head)
    refuseClearText(head)
    const { clock } = this.#options
    const nowMs = clock.now()
    if (!mayTry(this.#table, nowMs))
      throw new CairnError('Busy', 'Too many wrong codes; sign in again in a minute.', {
        code: 'too_many_tries',
        retryAfterMs: triesAgainMs(this.#table, nowMs),
      })
    const text = given.trim()
    const bearer = text.length > 100 ? this.#bearerOfToken(text) : this.#bearerOfCode(text)
    return this.#open(bearer, text.length > 100 ? 'token' : 'code', head)
  }

  /** The session of a request; throws why it has none. */
  of(head: Head): Session {
    refuseForeign(head)
    const cookie = cookieIn(head)
    const proof = head.headers.get(PROOF_HEADER)
    const session =
      cookie === undefined || proof === undefined
        ? undefined
        : useSession(this.#table, hashed(cookie), hashed(proof), this.#options.clock.now())
    if (session !== undefined) return session
    throw new CairnError('Unauthorized', 'No one is signed in here; open the console with `cairn open`.', {
      code: 'no_session',
    })
  }

  list(): readonly SessionFacts[] {
    return listSessions(this.#table, this.#options.clock.now()).map((session) => this.facts(session))
  }

  revoke(id: string): void {
    if (revokeSession(this.#table, id)) return
    throw new CairnError('NotFound', 'There is no such session; it may have ended.', { code: 'no_session' })
  }

  facts({ id, by, sinceMs, usedMs }: Session): SessionFacts {
    const { clock } = this.#options
    const wall = (ms: number): number => Math.max(0, Math.round(clock.wall() - clock.now() + ms))
    return { id, by, since: wall(sinceMs), last_used: wall(usedMs), expires_at: wall(usedMs + IDLE_MS) }
  }

  #open(bearer: string, by: SignInSource, head: Head): OpenedSession {
    const { clock, random } = this.#options
    const [cookie, proof] = [toHex(random.bytes(24)), toHex(random.bytes(24))]
    const now = clock.now()
    const session: Session = {
      id: toHex(random.bytes(6)),
      cookieHash: hashed(cookie),
      proofHash: hashed(proof),
      bearer,
      by,
      sinceMs: now,
      usedMs: now,
    }
    openSession(this.#table, session)
    const secure = head.peer.kind === 'tls' ? '; Secure' : ''
    const attributes = `; Path=/; Max-Age=${IDLE_MS / 1000}; HttpOnly; SameSite=Strict${secure}`
    return { facts: this.facts(session), proof, cookie: `${cookieName(head)}=${cookie}${attributes}` }
  }

  #bearerOfCode(text: string): string {
    const nowMs = this.#options.clock.now()
    const outcome = redeem(this.#table, hashed(text.toLowerCase().replaceAll(/[\s-]/g, '')), nowMs)
    if (outcome === 'redeemed') return this.#options.keys.adminBundle()
    if (outcome === 'unknown') countWrongTry(this.#table, nowMs)
    throw new CairnError('Unauthorized', WHY_NOT[outcome], { code: `code_${outcome}` })
  }

  /** A token that is genuine for a service of this node; what it allows, each service judges. */
  #bearerOfToken(text: string): string {
    const { clock, keys } = this.#options
    const isGenuine = AUDIENCES.some((audience) => {
      const { keyring, isRevoked } = keys.verifier(audience)
      const token = authenticate(keyring, text)
      return typeof token !== 'string' && !isRevoked(token.token.tid)
    })
    if (isGenuine) return text
    countWrongTry(this.#table, clock.now())
    throw new CairnError('Unauthorized', 'The token is not one of this node, or it was revoked.', {
      code: 'token_refused',
    })
  }
}

const WHY_NOT = {
  unknown: 'The code is not right; `cairn open` makes a new one.',
  used: 'This code was used already; each works once. If that was not you, end the sessions you do not know.',
  expired: 'This code is older than 10 minutes; `cairn open` makes a new one.',
} as const

function hashed(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Cookies know no ports: each port has a name of its own, so that two nodes of a host do not sign each other out. */
function cookieName({ headers }: Head): string {
  const [port = ''] = /(?<=:)\d+$/.exec(headers.get('host') ?? '') ?? []
  return `cairn-${port}`
}

function cookieIn(head: Head): string | undefined {
  const start = `${cookieName(head)}=`
  const pairs = head.headers.all('cookie').flatMap((header) => header.split(';').map((pair) => pair.trim()))
  return pairs.find((pair) => pair.startsWith(start))?.slice(start.length)
}

/** Only pages of this very origin: every browser that can open the console says so itself. */
function refuseForeign({ headers }: Head): void {
  if (headers.get('sec-fetch-site') === 'same-origin') return
  throw new CairnError('Forbidden', 'Only the console itself may ask this; programs show a token.', {
    code: 'cross_site',
  })
}

/** A cookie that is sent in clear text over a network is anybody's. */
function refuseClearText({ peer, host }: Head): void {
  const isHere = peer.address.startsWith('127.') || peer.address === '::1' || peer.address.startsWith('::ffff:127.')
  if (peer.kind === 'tls' || (isHere && (host === 'localhost' || host === '127.0.0.1' || host === '[::1]'))) return
  throw new CairnError('Forbidden', 'Signing in needs TLS here: use https, or an SSH tunnel to localhost.', {
    code: 'tls_required',
  })
}
