/**
 * Versions: a counter that orders puts and deletes of one object over all targets.
 *
 *     next: higher than all this node has issued or heard of        a put as new as a delete wins
 *
 * What others say of versions is followed at a pace: a single huge number would leave no higher one for anything later,
 * on every node and for good. At the pace it takes centuries to get there; no cluster writes as fast.
 */
import type { KnownCopy } from './target.ts'

export interface VersionClock {
  highest: number
  /** How much higher others may push it now. */
  room: number
  refilledAt: number
}

/** A node that is new follows one that has written for years in one step. */
const ROOM_MAX = 2 ** 32
const ROOM_PER_MS = 1000
/** Beyond this a version is none: two nodes at the same pace are never so far apart. */
const AHEAD_MAX = 2 ** 32
/** What is made to be newer than a version that was believed elsewhere. */
const GIVEN_AHEAD_MAX = 2 * AHEAD_MAX

export function createVersions(highest: number, now: number): VersionClock {
  return { highest, room: ROOM_MAX, refilledAt: now }
}

/** Follows a version that another node tells; false if it is further ahead than any honest one can be. */
export function observe(clock: VersionClock, version: number, now: number, aheadMax = AHEAD_MAX): boolean {
  clock.room = Math.min(ROOM_MAX, clock.room + Math.floor((now - clock.refilledAt) * ROOM_PER_MS))
  clock.refilledAt = now
  const isPlausible = version <= clock.highest + aheadMax
  const step = isPlausible ? Math.min(clock.room, Math.max(0, version - clock.highest)) : 0
  clock.highest += step
  clock.room -= step
  return isPlausible
}

/** Takes in a version that another node gave to what it writes here. */
export function observeGiven(clock: VersionClock, version: number, now: number): boolean {
  return observe(clock, version, now, GIVEN_AHEAD_MAX)
}

/** Higher than all that was followed, and than `floor`, which may be ahead of that. */
export function nextVersion(clock: VersionClock, floor = 0): number {
  clock.highest += 1
  return Math.max(clock.highest, floor + 1)
}

/** Whether `a` is what counts of two things known of one object. */
function isNewer(a: KnownCopy, b: KnownCopy): boolean {
  if (a.tag === 'absent') return false
  if (b.tag === 'absent') return true
  if (a.version !== b.version) return a.version > b.version
  return a.tag === 'object' && b.tag === 'tombstone'
}

/** What counts of all that is known of one object. */
export function newestOf(known: readonly KnownCopy[]): KnownCopy {
  return known.reduce((newest, each) => (isNewer(each, newest) ? each : newest), { tag: 'absent' })
}

/** Everybody who holds any of these copies. */
export function ownersOf(copies: readonly (KnownCopy | undefined)[]): string[] {
  return [...new Set(copies.flatMap((known) => (known?.tag === 'object' ? (known.owners ?? []) : [])))]
}
