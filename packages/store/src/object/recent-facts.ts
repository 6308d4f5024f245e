import type { ObjectFacts } from './object-record.ts'

/** A thousandth of what the cache of chunks may take, and enough for as many small objects as fit into it in part. */
const GENERATION_MAX = 4_096

/**
 * Facts of objects that were asked about lately.
 *
 *     add ─▶ young ── full ──▶ old ── young is full again ──▶ forgotten
 *              ▲                │
 *              └──── asked ─────┘
 *
 * Two generations instead of an order of use: what is asked for all the time costs one look and moves nothing.
 */
export class RecentFacts {
  #young = new Map<string, ObjectFacts>()
  #old = new Map<string, ObjectFacts>()

  get(id: string): ObjectFacts | undefined {
    const young = this.#young.get(id)
    if (young !== undefined) return young
    const old = this.#old.get(id)
    if (old !== undefined) this.add(id, old)
    return old
  }

  add(id: string, facts: ObjectFacts): void {
    if (this.#young.size >= GENERATION_MAX) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(id, facts)
  }

  remove(id: string): void {
    this.#young.delete(id)
    this.#old.delete(id)
  }
}
