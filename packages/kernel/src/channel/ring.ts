/** A fixed array used in a circle: O(1) at both ends, no allocation after construction. */
export class Ring<T> {
  readonly #slots: (T | undefined)[]
  #head = 0
  #length = 0

  constructor(capacity: number) {
    this.#slots = new Array<T | undefined>(capacity)
  }

  get length(): number {
    return this.#length
  }

  /** Adds at the end. The caller has checked that there is room. */
  push(item: T): void {
    const end = this.#head + this.#length
    this.#slots[end < this.#slots.length ? end : end - this.#slots.length] = item
    this.#length += 1
  }

  /** Takes from the front. The caller has checked that there is something. */
  shift(): T {
    const item = this.#slots[this.#head] as T
    this.#slots[this.#head] = undefined
    this.#head = this.#head + 1 < this.#slots.length ? this.#head + 1 : 0
    this.#length -= 1
    return item
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let at = 0; at < this.#length; at += 1) yield this.#slots[(this.#head + at) % this.#slots.length] as T
  }
}
