/**
 * The few things that really take time (loading a module): no virtual time passes and no timer fires
 * until they are done, so how long they take cannot be seen from inside.
 */
export class Outside {
  readonly #waits = new Set<Promise<unknown>>()

  async wait<T>(work: Promise<T>): Promise<T> {
    this.#waits.add(work)
    try {
      return await work
    } finally {
      this.#waits.delete(work)
    }
  }

  get busy(): boolean {
    return this.#waits.size > 0
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#waits)
  }
}
