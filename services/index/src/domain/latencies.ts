/** How fast providers answered us, as far as we asked them: a moving value each, the least recent forgotten first. */
const PROVIDERS_MAX = 10_000
const WEIGHT = 0.25

export class Latencies {
  readonly #ms = new Map<string, number>()

  note(id: string, ms: number): void {
    const before = this.#ms.get(id)
    this.#ms.delete(id)
    this.#ms.set(id, before === undefined ? ms : before + (ms - before) * WEIGHT)
    const [oldest] = this.#ms.keys()
    if (this.#ms.size > PROVIDERS_MAX && oldest !== undefined) this.#ms.delete(oldest)
  }

  readonly of = (id: string): number | undefined => this.#ms.get(id)
}
