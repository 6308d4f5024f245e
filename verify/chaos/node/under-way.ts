/** Which requests are under way, by what they do: what a kill falls into. */
export class UnderWay {
  readonly #counts = new Map<string, number>()

  /** Counts the request for as long as it takes. */
  async during<T>(kind: string, make: () => Promise<T>): Promise<T> {
    this.#add(kind, 1)
    try {
      return await make()
    } finally {
      this.#add(kind, -1)
    }
  }

  /** The kinds of which at least one is under way now. */
  now(): string[] {
    return [...this.#counts].flatMap(([kind, count]) => (count > 0 ? [kind] : []))
  }

  #add(kind: string, by: number): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + by)
  }
}
