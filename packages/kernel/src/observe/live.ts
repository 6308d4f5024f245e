/**
 * Everything alive in a service: queues, tasks, scopes, open files. Each registers itself when it is
 * made and leaves when it is closed. `/debug/topology` shows the list, metrics are read from it when
 * scraped, and every test suite ends by asserting that it is empty.
 */

export type LiveKind = 'task' | 'queue' | 'watch' | 'broadcast' | 'scope' | 'resource'
export type LiveFacts = Readonly<Record<string, string | number>>

export interface LiveEntry {
  readonly kind: LiveKind
  readonly name: string
  /** Its state at this moment. */
  facts(): LiveFacts
}

export class LiveTopology implements Iterable<LiveEntry> {
  readonly #entries = new Set<LiveEntry>()
  readonly #dropped: FinalizationRegistry<string>

  /** `onDropped` hears of every tracked owner the collector took before it was closed. */
  constructor(onDropped: (name: string) => void) {
    this.#dropped = new FinalizationRegistry(onDropped)
  }

  /** Lists the entry until the returned function is called. */
  add(entry: LiveEntry): () => void {
    this.#entries.add(entry)
    return () => {
      this.#entries.delete(entry)
    }
  }

  /** Like `add`, for an owner that must be closed before it is dropped. The entry must not refer to the owner. */
  track(owner: object, entry: LiveEntry): () => void {
    const unlist = this.add(entry)
    this.#dropped.register(owner, entry.name, owner)
    return () => {
      this.#dropped.unregister(owner)
      unlist()
    }
  }

  [Symbol.iterator](): Iterator<LiveEntry> {
    return this.#entries.values()
  }

  get size(): number {
    return this.#entries.size
  }

  /** Plain data for `/debug/topology`, in order of kind and name. */
  snapshot(): { kind: LiveKind; name: string; facts: LiveFacts }[] {
    const rows = [...this.#entries].map((entry) => ({ kind: entry.kind, name: entry.name, facts: entry.facts() }))
    return rows.sort((a, b) => (`${a.kind} ${a.name}` < `${b.kind} ${b.name}` ? -1 : 1))
  }
}
