/**
 * Answers and when each expires; `cache.ts` has the queue its one writer reads.
 *
 *     oldest ▶ │ a 10 s │ b 2 s │ c 10 s │ ◀ newest        read: only before it expires
 *                                                          write: at the end; past `entries` the oldest goes first
 *
 * Answers live for seconds, so the oldest written is as good as the one unused longest. What is pinned is not pushed
 * out; it expires like the rest unless it is renewed.
 */

export interface CacheEntry<V> {
  readonly value: V
  readonly storedAt: number
  readonly expiresAt: number
}

export interface CacheCore<V> {
  readonly entries: Map<string, CacheEntry<V>>
}

/** What a lookup hands to the janitor; without an entry, what is kept is to be forgotten. */
export interface CacheWrite<V> {
  readonly key: string
  readonly entry: CacheEntry<V> | undefined
}

/** The end of the queue that lookups see. */
export interface CacheWriteQueue<V> {
  trySend(write: CacheWrite<V>): 'sent' | 'full' | 'closed'
}

export function createCache<V>(): CacheCore<V> {
  return { entries: new Map() }
}

export function readEntry<V>(cache: CacheCore<V>, key: string, now: number): CacheEntry<V> | undefined {
  const entry = cache.entries.get(key)
  return entry !== undefined && now < entry.expiresAt ? entry : undefined
}

/** Leaves a write for the janitor; `lost` where there is no room. Never waits and never fails: the answer goes out. */
export function leaveWrite<V>(line: CacheWriteQueue<V>, write: CacheWrite<V>): 'left' | 'lost' {
  return line.trySend(write) === 'full' ? 'lost' : 'left'
}

/** Janitor only. */
export function writeEntry<V>(
  cache: CacheCore<V>,
  key: string,
  entry: CacheEntry<V>,
  limit: { readonly entries: number; readonly isPinned: (key: string) => boolean },
): void {
  cache.entries.delete(key)
  cache.entries.set(key, entry)
  if (cache.entries.size <= limit.entries) return
  for (const oldest of cache.entries.keys()) {
    if (oldest === key || limit.isPinned(oldest)) continue
    cache.entries.delete(oldest)
    if (cache.entries.size <= limit.entries) return
  }
}

/** Janitor only. */
export function forgetEntry<V>(cache: CacheCore<V>, key: string): void {
  cache.entries.delete(key)
}

/** Janitor only: lets go of what has expired. */
export function sweepEntries<V>(cache: CacheCore<V>, now: number): void {
  for (const [key, { expiresAt }] of cache.entries) if (now >= expiresAt) cache.entries.delete(key)
}
