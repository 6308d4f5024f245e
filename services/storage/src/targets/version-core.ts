/**
 * Versions: a counter that orders puts and deletes of one object over all targets.
 *
 *     next: higher than all this node has issued or heard of        a put as new as a delete wins
 */
import type { KnownCopy } from './target.ts'

export interface VersionClock {
  highest: number
}

export function createVersions(highest: number): VersionClock {
  return { highest }
}

export function observe(clock: VersionClock, version: number): void {
  clock.highest = Math.max(clock.highest, version)
}

export function nextVersion(clock: VersionClock): number {
  clock.highest += 1
  return clock.highest
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
