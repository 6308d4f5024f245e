/**
 * Puts packed entries in order of (kind, id), the newest first where an id has several, in steps that are short: a
 * segment may hold millions, and nothing else runs while one step does.
 *
 *     entries ─ count by (kind, first byte of the id) ─▶ buckets ─ each sorted by itself ─▶ order
 */
import { compareEntries, ENTRY_BYTES, entryKind, entryLsn, LINK_BYTES } from './entry-lists.ts'

/** Entries looked at between two pauses. */
const STEP = 4_096
const BUCKETS_PER_KIND = 256

export type Pause = () => Promise<void>

/** The places of the entries in the order they should have. The bytes must not change meanwhile. */
export async function sortedEntries(bytes: Uint8Array, pause: Pause): Promise<Uint32Array> {
  const count = bytes.length / ENTRY_BYTES
  const ends = new Uint32Array(256 * BUCKETS_PER_KIND)
  const bucketOf = (entry: number): number => {
    const at = entry * ENTRY_BYTES
    return entryKind(bytes, at) * BUCKETS_PER_KIND + (bytes[at] ?? 0)
  }
  const countdown = new Countdown(pause)
  for (let entry = 0; entry < count; entry += 1) {
    const bucket = bucketOf(entry)
    ends[bucket] = (ends[bucket] ?? 0) + 1
    if (countdown.isDue(1)) await countdown.rest()
  }
  let sum = 0
  for (let bucket = 0; bucket < ends.length; bucket += 1) {
    const each = ends[bucket] ?? 0
    ends[bucket] = sum
    sum += each
  }
  const order = new Uint32Array(count)
  for (let entry = 0; entry < count; entry += 1) {
    const bucket = bucketOf(entry)
    const place = ends[bucket] ?? 0
    order[place] = entry * ENTRY_BYTES
    ends[bucket] = place + 1
    if (countdown.isDue(1)) await countdown.rest()
  }
  let from = 0
  for (const end of ends) {
    if (end - from > 1) {
      order
        .subarray(from, end)
        .sort((a, b) => compareEntries(bytes, a, bytes, b) || entryLsn(bytes, b) - entryLsn(bytes, a))
      // Sorting costs more than a look at each.
      if (countdown.isDue(4 * (end - from))) await countdown.rest()
    }
    from = Math.max(from, end)
  }
  return order
}

/** Links in order of their hold. There are few. */
export function sortedLinks(bytes: Uint8Array): number[] {
  const places = Array.from({ length: bytes.length / LINK_BYTES }, (_, link) => link * LINK_BYTES)
  return places.sort((a, b) => compareLinks(bytes, a, b))
}

function compareLinks(bytes: Uint8Array, a: number, b: number): number {
  for (let at = 0; at < LINK_BYTES; at += 1) {
    const difference = (bytes[a + at] ?? 0) - (bytes[b + at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

class Countdown {
  readonly #pause: Pause
  #left = STEP

  constructor(pause: Pause) {
    this.#pause = pause
  }

  isDue(steps: number): boolean {
    this.#left -= steps
    return this.#left <= 0
  }

  async rest(): Promise<void> {
    this.#left = STEP
    await this.#pause()
  }
}
