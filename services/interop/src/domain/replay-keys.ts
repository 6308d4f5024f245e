/**
 * Which deliveries were accepted. A key is remembered until its time is over, never less: a full store takes no more.
 *
 *     delivery ─▶ is its key here? ─▶ a duplicate
 *                  └─ is it on its way? ─▶ wait for what becomes of the first
 *
 * A key has a few dozen bytes here, so that a million fit: 144 bits of its hash, and one number for when and where.
 */
import { blake3, toBase64url } from '@cairn/wire'
import type { ReplayKey } from './record.ts'

const HASH_BYTES = 18
/** Times are kept in hours, rounded up: together with a segment's number they fit one exact number. */
const HOUR_MS = 3_600_000
const SEGMENTS = 2 ** 32

/** A replay key as it is kept: its hash, short. */
export function replayHash(key: string): string {
  return toBase64url(blake3(new TextEncoder().encode(key)).subarray(0, HASH_BYTES))
}

/** How a delivery stands: whoever is `first` must say when it is `over`, however it ended. */
export type ReplayState = 'known' | 'under-way' | 'first' | 'full'

export class ReplayKeys {
  readonly #max: number
  readonly #kept = new Map<string, number>()
  readonly #underWay = new Set<string>()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#kept.size
  }

  /** In one step: two deliveries of one key are never both first. */
  stand(hash: string, nowMs: number): ReplayState {
    const kept = this.#kept.get(hash)
    if (kept !== undefined && Math.floor(kept / SEGMENTS) * HOUR_MS > nowMs) return 'known'
    if (this.#underWay.has(hash)) return 'under-way'
    if (this.#kept.size + this.#underWay.size >= this.#max) return 'full'
    this.#underWay.add(hash)
    return 'first'
  }

  /** The first has ended: its record is durable and known here, or it never will be. */
  over(hash: string): void {
    this.#underWay.delete(hash)
  }

  /** It is durable, in this segment. */
  add({ key, until }: ReplayKey, segment: number): void {
    this.#kept.set(key, Math.ceil(until / HOUR_MS) * SEGMENTS + segment)
  }

  /** Keys whose newest record lies in this segment or before, at most `limit` of them. */
  livingIn(segment: number, limit: number, nowMs: number): ReplayKey[] {
    const keys: ReplayKey[] = []
    for (const [key, kept] of this.#kept) {
      const until = Math.floor(kept / SEGMENTS) * HOUR_MS
      if (kept % SEGMENTS > segment || until <= nowMs) continue
      keys.push({ key, until })
      if (keys.length === limit) break
    }
    return keys
  }

  /** Forgets those whose time is over, a slice at a time; whoever iterates may pause between. */
  *expire(nowMs: number, slice: number): Generator<undefined> {
    let seen = 0
    for (const [key, kept] of this.#kept) {
      if (Math.floor(kept / SEGMENTS) * HOUR_MS <= nowMs) this.#kept.delete(key)
      seen += 1
      if (seen % slice === 0) yield
    }
  }
}
