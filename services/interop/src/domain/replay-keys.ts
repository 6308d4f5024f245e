/**
 * Which deliveries were accepted, as far as memory knows: those whose record is younger than the newest run of
 * `replay/key-runs.ts`, and those that are on their way.
 *
 *     delivery ─▶ is its key here? ─▶ a duplicate
 *                  ├─ is it on its way? ─▶ wait for what becomes of the first
 *                  └─ the first, unless a run on the drive knows it
 *
 * A key is remembered until its time is over, never less: a full store takes no more.
 */
import { blake3, compareBytes, fromBase64url, toBase64url } from '@cairn/wire'
import { HASH_BYTES, HOUR_MS, type KeyItem } from '../replay/key-run.ts'
import type { ReplayKey } from './record.ts'

/** In memory; past it nothing is taken until a run has been written. */
const MEMORY_MAX = 262_144
/** As many are worth a run. */
const RUN_ITEMS = 32_768
/** Keys put in order at once. */
const SLICE = 2000

/** A replay key as it is kept: its hash, short. */
export function replayHash(key: string): string {
  return toBase64url(blake3(new TextEncoder().encode(key)).subarray(0, HASH_BYTES))
}

/** How a delivery stands: whoever is `first` must say when it is `over`, however it ended. */
export type ReplayState = 'known' | 'under-way' | 'first' | 'full'

/** Where the record lies that says so. */
export interface KeyPlace {
  readonly lsn: number
  readonly segment: number
}

interface KeptKey extends KeyPlace {
  readonly hour: number
}

export class ReplayKeys {
  readonly #max: number
  /** In the order of their records. */
  readonly #kept = new Map<string, KeptKey>()
  readonly #underWay = new Set<string>()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#kept.size
  }

  /** In one step: two deliveries of one key are never both first. `elsewhere` is how many runs hold. */
  stand(hash: string, nowMs: number, elsewhere = 0): ReplayState {
    if (this.knows(hash, nowMs)) return 'known'
    if (this.#underWay.has(hash)) return 'under-way'
    const here = this.#kept.size + this.#underWay.size
    if (here >= MEMORY_MAX || here + elsewhere >= this.#max) return 'full'
    this.#underWay.add(hash)
    return 'first'
  }

  knows(hash: string, nowMs: number): boolean {
    const kept = this.#kept.get(hash)
    return kept !== undefined && kept.hour * HOUR_MS > nowMs
  }

  /** The first has ended: its record is durable and known here, or it never will be. */
  over(hash: string): void {
    this.#underWay.delete(hash)
  }

  /** It is durable, in a record at this place. */
  add({ key, until }: ReplayKey, { lsn, segment }: KeyPlace): void {
    this.#kept.delete(key)
    this.#kept.set(key, { hour: Math.ceil(until / HOUR_MS), lsn, segment })
  }

  /** Whether there are enough for a run. */
  get isRunDue(): boolean {
    return this.#kept.size >= RUN_ITEMS
  }

  /** Whether the record of any of them lies in this segment or before. */
  isIn(segment: number): boolean {
    const [first] = this.#kept.values()
    return first !== undefined && first.segment <= segment
  }

  /** What a run would hold, and up to which record; its reader may pause between. Those whose time is over are not in it. */
  *taken(nowMs: number): Generator<undefined, { readonly items: KeyItem[]; readonly through: number }> {
    const items: KeyItem[] = []
    let [seen, through] = [0, 0]
    // More may come while their reader pauses.
    const kept = [...this.#kept]
    for (const [key, { hour, lsn }] of kept) {
      through = lsn
      if (hour * HOUR_MS > nowMs) items.push({ hash: fromBase64url(key), hour })
      seen += 1
      if (seen % SLICE === 0) yield
    }
    const order = inOrder(items)
    yield
    return { items: order, through }
  }

  /** Records up to this one are spoken for by runs. */
  forget(through: number): void {
    for (const [key, { lsn }] of this.#kept) {
      if (lsn > through) return
      this.#kept.delete(key)
    }
  }
}

/** Sorted by hash. Numbers are sorted many times faster than bytes: four bytes and the place make one exact number. */
function inOrder(items: readonly KeyItem[]): KeyItem[] {
  const places = new Float64Array(items.length)
  items.forEach(({ hash }, at) => {
    const view = new DataView(hash.buffer, hash.byteOffset)
    places[at] = view.getUint32(0) * MEMORY_MAX * 2 + at
  })
  places.sort()
  const sorted = [...places].flatMap((place) => items[place % (MEMORY_MAX * 2)] ?? [])
  for (let at = 1; at < sorted.length; at += 1) {
    // Those that begin alike are few and neighbours.
    for (let back = at; back > 0; back -= 1) {
      const [before, here] = [sorted[back - 1], sorted[back]]
      if (before === undefined || here === undefined || compareBytes(before.hash, here.hash) <= 0) break
      sorted[back - 1] = here
      sorted[back] = before
    }
  }
  return sorted
}
