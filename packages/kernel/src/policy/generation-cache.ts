/**
 * What was asked for lately, and how much of it at most.
 *
 *     add ─▶ young ── full ──▶ old ── young is full again ──▶ forgotten
 *              ▲                │
 *              └──── asked ─────┘
 *
 * Two generations instead of an order of use: what is asked for all the time costs one look and moves nothing.
 */
export class GenerationCache<V> {
  readonly #generationMax: number
  #young = new Map<string, V>()
  #old = new Map<string, V>()

  /** Never holds more than two generations of so many. */
  constructor(generationMax: number) {
    this.#generationMax = generationMax
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.add(key, old)
    return old
  }

  add(key: string, value: V): void {
    if (this.#young.size >= this.#generationMax) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  remove(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}
