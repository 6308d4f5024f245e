import type { Clock } from '@cairn/kernel'

interface HotEntry<T> {
  readonly value: T
  readonly bytes: number
  readonly until: number
}

/** Small things asked for again and again, for a short time: bounded in bytes, the least recently used go first. */
export class HotBytes<T> {
  readonly #clock: Clock
  readonly #bytesMax: number
  readonly #ttlMs: number
  readonly #held = new Map<string, HotEntry<T>>()
  #bytes = 0
  /** The one most recently used: it stands last already. */
  #latest = ''

  constructor(clock: Clock, bytesMax: number, ttlMs: number) {
    this.#clock = clock
    this.#bytesMax = bytesMax
    this.#ttlMs = ttlMs
  }

  get(key: string): T | undefined {
    const held = this.#held.get(key)
    if (held === undefined) return undefined
    if (held.until <= this.#clock.now()) {
      this.delete(key)
      return undefined
    }
    if (key !== this.#latest) {
      // Most recently used last.
      this.#held.delete(key)
      this.#held.set(key, held)
      this.#latest = key
    }
    return held.value
  }

  set(key: string, value: T, bytes: number): void {
    this.delete(key)
    if (bytes > this.#bytesMax) return
    this.#held.set(key, { value, bytes, until: this.#clock.now() + this.#ttlMs })
    this.#latest = key
    this.#bytes += bytes
    for (const [oldest] of this.#held) {
      if (this.#bytes <= this.#bytesMax) return
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const held = this.#held.get(key)
    if (held === undefined) return
    this.#held.delete(key)
    this.#bytes -= held.bytes
  }
}
