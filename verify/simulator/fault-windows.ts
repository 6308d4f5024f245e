/**
 * Which nodes are inside a fault that may leave a request unanswered.
 *
 *     window        ├────────┤            ├──┤
 *     request A                  ├────┤               must be answered: outside all the time
 *     request B   ├─────┤  C ├──────────────────┤     need not be: a window was open, or opened and closed, meanwhile
 */
export type FaultState =
  | { readonly tag: 'inside' }
  /** `windows` have opened so far. */
  | { readonly tag: 'outside'; readonly windows: number }

export class FaultWindows {
  readonly #opened = new Map<string, number>()
  readonly #open = new Map<string, number>()

  /** A window that opens and closes in this moment. */
  once(nodes: readonly string[]): void {
    for (const node of nodes) add(this.#opened, node, 1)
  }

  /** Opens a window that closes when it is disposed of. */
  open(nodes: readonly string[]): Disposable {
    // A request that began before it and ends after it sees that it was there.
    this.once(nodes)
    for (const node of nodes) add(this.#open, node, 1)
    return {
      [Symbol.dispose]: () => {
        for (const node of nodes) add(this.#open, node, -1)
      },
    }
  }

  of(node: string): FaultState {
    if ((this.#open.get(node) ?? 0) > 0) return { tag: 'inside' }
    return { tag: 'outside', windows: this.#opened.get(node) ?? 0 }
  }
}

/** True if no window was open at either time or opened between them. */
export function isUndisturbed(before: FaultState, after: FaultState): boolean {
  return before.tag === 'outside' && after.tag === 'outside' && before.windows === after.windows
}

function add(counts: Map<string, number>, node: string, by: number): void {
  counts.set(node, (counts.get(node) ?? 0) + by)
}
