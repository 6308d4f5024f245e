import { Closeable, type Runtime } from '@cairn/kernel'
import type { Kv, KvEntry, KvOpener, KvOperation, KvRange } from './kv.ts'
import { checkOperations, kvAlreadyOpen, kvClosed } from './kv-error.ts'
import { copyOf, SortedMap } from './sorted-map.ts'

/** What a path holds between one opening and the next. */
interface Shelf {
  map: SortedMap
  open: boolean
}

/** Stores in memory, kept from one opening to the next and gone with the process. */
export class MemoryKvOpener implements KvOpener {
  readonly #runtime: Runtime
  readonly #shelves = new Map<string, Shelf>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  async open(path: string): Promise<Kv> {
    return await Promise.try(() => {
      const shelf = this.#shelves.get(path) ?? { map: SortedMap.EMPTY, open: false }
      if (shelf.open) throw kvAlreadyOpen()
      shelf.open = true
      this.#shelves.set(path, shelf)
      return new MemoryKv(this.#runtime, path, shelf)
    })
  }
}

class MemoryKv extends Closeable implements Kv {
  readonly #shelf: Shelf

  constructor(runtime: Runtime, path: string, shelf: Shelf) {
    super(runtime, `kv ${path}`)
    this.#shelf = shelf
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const value = this.#map().get(key)
    return value === undefined ? undefined : copyOf(value)
  }

  *range(range: KvRange): Iterable<KvEntry> {
    for (const { key, value } of this.#map().range(range)) {
      yield { key: copyOf(key), value: copyOf(value) }
      this.#map()
    }
  }

  async commit(operations: readonly KvOperation[]): Promise<void> {
    await Promise.try(() => {
      checkOperations(operations)
      this.#shelf.map = this.#map().apply(operations)
    })
  }

  protected override async release(): Promise<void> {
    this.#shelf.open = false
    await Promise.resolve()
  }

  #map(): SortedMap {
    if (this.closed) throw kvClosed()
    return this.#shelf.map
  }
}
