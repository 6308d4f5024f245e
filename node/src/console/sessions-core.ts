/**
 * Who is signed in to the console.
 *
 *     code (one use, 10 minutes) ──redeem──▶ session: a cookie and a proof ──▶ bearer of the requests it sends on
 *     token of an administrator ───open────▶    │
 *                                               └─ revoked, idle too long, or pushed out by newer ones ──▶ gone
 *
 * Codes, cookies and proofs are kept as hashes only: what reads this memory cannot sign in with it.
 */

export const CODES_MAX = 16
export const SESSIONS_MAX = 64
export const CODE_MS = 10 * 60_000
export const IDLE_MS = 12 * 3_600_000
/** Wrong codes that are judged in a window; after them nothing is judged until it has passed. */
export const TRIES_MAX = 10
export const TRIES_MS = 60_000
/** Codes that were used are remembered, so that a second use is told from a wrong code. */
const USED_MAX = 64

export type SignInSource = 'code' | 'token'

export interface Session {
  /** Names it in lists; opens nothing. */
  readonly id: string
  readonly cookieHash: string
  readonly proofHash: string
  /** What its requests are sent on with. */
  readonly bearer: string
  readonly by: SignInSource
  readonly sinceMs: number
  usedMs: number
}

export interface SessionTable {
  /** By hash, oldest first: when each expires. */
  readonly codes: Map<string, number>
  readonly used: Set<string>
  /** By id, oldest first. */
  readonly sessions: Map<string, Session>
  /** Wrong tries of the window, and when it began. */
  tries: number
  triesSinceMs: number
}

export function createSessionTable(): SessionTable {
  return { codes: new Map(), used: new Set(), sessions: new Map(), tries: 0, triesSinceMs: Number.NEGATIVE_INFINITY }
}

/** Keeps a new code; the oldest goes when there are too many. */
export function keepCode(table: SessionTable, hash: string, nowMs: number): void {
  dropOldest(table.codes, CODES_MAX - 1)
  table.codes.set(hash, nowMs + CODE_MS)
}

/** Whether a sign-in may be judged now. */
export function mayTry(table: SessionTable, nowMs: number): boolean {
  return nowMs - table.triesSinceMs >= TRIES_MS || table.tries < TRIES_MAX
}

/** When sign-ins are judged again, in milliseconds. */
export function triesAgainMs(table: SessionTable, nowMs: number): number {
  return Math.max(0, table.triesSinceMs + TRIES_MS - nowMs)
}

export function countWrongTry(table: SessionTable, nowMs: number): void {
  if (nowMs - table.triesSinceMs >= TRIES_MS) {
    table.tries = 0
    table.triesSinceMs = nowMs
  }
  table.tries += 1
}

/** Uses a code up, whatever comes of it. */
export function redeem(table: SessionTable, hash: string, nowMs: number): 'redeemed' | 'expired' | 'used' | 'unknown' {
  const expiresMs = table.codes.get(hash)
  if (expiresMs === undefined) return table.used.has(hash) ? 'used' : 'unknown'
  table.codes.delete(hash)
  dropOldest(table.used, USED_MAX - 1)
  table.used.add(hash)
  return nowMs < expiresMs ? 'redeemed' : 'expired'
}

export function openSession(table: SessionTable, session: Session): void {
  dropIdle(table, session.sinceMs)
  dropOldest(table.sessions, SESSIONS_MAX - 1)
  table.sessions.set(session.id, session)
}

/** The session that both halves open; using it keeps it. */
export function useSession(
  table: SessionTable,
  cookieHash: string,
  proofHash: string,
  nowMs: number,
): Session | undefined {
  for (const session of table.sessions.values()) {
    if (session.cookieHash !== cookieHash || session.proofHash !== proofHash) continue
    if (nowMs - session.usedMs >= IDLE_MS) break
    session.usedMs = nowMs
    return session
  }
  return undefined
}

export function listSessions(table: SessionTable, nowMs: number): readonly Session[] {
  dropIdle(table, nowMs)
  return [...table.sessions.values()]
}

export function revokeSession(table: SessionTable, id: string): boolean {
  return table.sessions.delete(id)
}

function dropIdle(table: SessionTable, nowMs: number): void {
  for (const [id, { usedMs }] of table.sessions) if (nowMs - usedMs >= IDLE_MS) table.sessions.delete(id)
}

function dropOldest(kept: Map<string, unknown> | Set<string>, max: number): void {
  for (const key of kept.keys()) {
    if (kept.size <= max) return
    kept.delete(key)
  }
}
