/**
 * Who keeps a chunk that no object refers to yet.
 *
 *     missing / put ── lease to the upload, for an hour ──▶ commit: the object refers to it ──▶ lease ends
 *                                └── abandoned ──▶ expired: the sweeper may take it
 *
 * Times are on the monotonic clock, which a restart forgets: so after a start nothing is swept for one lease time.
 */

export interface UploadLease {
  expiresAt: number
  readonly ids: Set<string>
}

export interface LeaseCore {
  readonly ttlMs: number
  /** Before this, leases of an earlier life may still run. */
  readonly sweepsFrom: number
  readonly uploads: Map<string, UploadLease>
  /** When to look for leases that ran out; looking at each of them on every call would cost more than they do. */
  expiresFrom: number
  /** Grows whenever a lease ends while it still keeps something: that may be garbage from now on. */
  abandoned: number
}

/** How often in a lease time those that ran out are forgotten. */
const EXPIRIES_PER_LEASE = 60

export function createLeases(ttlMs: number, now: number): LeaseCore {
  return { ttlMs, sweepsFrom: now + ttlMs, uploads: new Map(), expiresFrom: now, abandoned: 0 }
}

/** The upload keeps this chunk, and all it had, for a lease time from now. */
export function lease(core: LeaseCore, upload: string, id: string, now: number): void {
  expire(core, now)
  const held = core.uploads.get(upload) ?? { expiresAt: 0, ids: new Set() }
  // What is kept until `endLease` stays so.
  held.expiresAt = Math.max(held.expiresAt, now + core.ttlMs)
  held.ids.add(id)
  core.uploads.set(upload, held)
}

/** Kept for as long as it takes, not by the clock: until `endLease`. */
export function keep(core: LeaseCore, name: string, id: string): void {
  const held = core.uploads.get(name) ?? { expiresAt: 0, ids: new Set() }
  held.expiresAt = Number.POSITIVE_INFINITY
  held.ids.add(id)
  core.uploads.set(name, held)
}

/** These are kept by something else now; the upload keeps what else it has. */
export function unlease(core: LeaseCore, upload: string, ids: Iterable<string>): void {
  const held = core.uploads.get(upload)
  if (held === undefined) return
  for (const id of ids) held.ids.delete(id)
  if (held.ids.size === 0) core.uploads.delete(upload)
}

/** An object refers to what this kept. */
export function endLease(core: LeaseCore, upload: string): void {
  core.uploads.delete(upload)
}

/** Nothing refers to what this kept, as far as its holder knows. */
export function abandonLease(core: LeaseCore, upload: string): void {
  if (core.uploads.delete(upload)) core.abandoned += 1
}

export function isLeased(core: LeaseCore, id: string, now: number): boolean {
  for (const { expiresAt, ids } of core.uploads.values()) if (expiresAt > now && ids.has(id)) return true
  return false
}

/** Forgets leases that ran out. */
export function expire(core: LeaseCore, now: number): void {
  if (now < core.expiresFrom) return
  core.expiresFrom = now + core.ttlMs / EXPIRIES_PER_LEASE
  for (const [upload, { expiresAt }] of core.uploads) if (expiresAt <= now) abandonLease(core, upload)
}
