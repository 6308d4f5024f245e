/** What happened, and happens, to each node that excuses an answer that does not come. */
export class Excuses {
  readonly #happened = new Map<string, number>()
  readonly #happening = new Map<string, number>()

  once(nodes: readonly string[]): void {
    for (const node of nodes) add(this.#happened, node, 1)
  }

  /** Until it is disposed of. */
  from(nodes: readonly string[]): Disposable {
    // Also for whoever asked before it began and hears that there is no answer after it ended.
    this.once(nodes)
    for (const node of nodes) add(this.#happening, node, 1)
    return {
      [Symbol.dispose]: () => {
        for (const node of nodes) add(this.#happening, node, -1)
      },
    }
  }

  /** A number that is another one after something happened; not a number, and so equal to nothing, while it happens. */
  of(node: string): number {
    return (this.#happening.get(node) ?? 0) > 0 ? Number.NaN : (this.#happened.get(node) ?? 0)
  }
}

function add(counts: Map<string, number>, node: string, by: number): void {
  counts.set(node, (counts.get(node) ?? 0) + by)
}
