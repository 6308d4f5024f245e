/** Indexes that survive a crash with every commit that resolved, and perhaps the one under way. */
import { Closeable, type Random, Semaphore } from '@cairn/kernel'
import {
  checkOperations,
  type Kv,
  type KvEntry,
  type KvOpener,
  type KvOperation,
  type KvRange,
  kvAlreadyOpen,
  kvClosed,
  kvPoisoned,
  SortedMap,
} from '@cairn/platform'
import { failureOf, type Mount } from './disk/virtual-disk.ts'

/** What one path holds; survives the life that wrote it. */
class Shelf {
  map: SortedMap = SortedMap.EMPTY
  open = false
  /** Asked for and not yet answered. */
  underWay: readonly KvOperation[] | undefined

  crash(random: Random): void {
    if (this.underWay !== undefined && random.next() < 0.5) this.map = this.map.apply(this.underWay)
    this.underWay = undefined
    this.open = false
  }
}

/** All indexes of a machine. */
export class Shelves {
  readonly #shelves = new Map<string, Shelf>()

  at(path: string): Shelf {
    const shelf = this.#shelves.get(path) ?? new Shelf()
    this.#shelves.set(path, shelf)
    return shelf
  }

  crash(random: Random): void {
    for (const shelf of this.#shelves.values()) shelf.crash(random)
  }

  /** Loses every index, which no code may mind: they can all be rebuilt. */
  lose(): void {
    this.#shelves.clear()
  }
}

export class VirtualKvOpener implements KvOpener {
  readonly #mount: Mount
  readonly #shelves: Shelves

  constructor(mount: Mount, shelves: Shelves) {
    this.#mount = mount
    this.#shelves = shelves
  }

  async open(path: string): Promise<Kv> {
    const { life, faults } = this.#mount
    const latencyMs = life.latency(1) * faults.slowness
    return await life.call({
      name: 'kv.open',
      detail: path,
      latencyMs,
      begin: () => {
        const fault = faults.strike('open-index', path, life.chance)
        if (fault !== undefined) throw failureOf(fault, path)
      },
      end: () => {
        const shelf = this.#shelves.at(path)
        if (shelf.open) throw kvAlreadyOpen()
        shelf.open = true
        return new VirtualKv(this.#mount, path, shelf)
      },
    })
  }
}

class VirtualKv extends Closeable implements Kv {
  readonly #mount: Mount
  readonly #path: string
  readonly #shelf: Shelf
  /** One writer: commits happen one after the other. */
  readonly #writer = new Semaphore(1)
  #poison: unknown

  constructor(mount: Mount, path: string, shelf: Shelf) {
    super(mount.runtime, `kv ${path}`)
    this.#mount = mount
    this.#path = path
    this.#shelf = shelf
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const value = this.#map().get(key)
    return value === undefined ? undefined : new Uint8Array(value)
  }

  *range(range: KvRange): Iterable<KvEntry> {
    for (const { key, value } of this.#map().range(range)) {
      yield { key: new Uint8Array(key), value: new Uint8Array(value) }
      this.#map()
    }
  }

  async commit(operations: readonly KvOperation[]): Promise<void> {
    this.#map()
    checkOperations(operations)
    using _permit = await this.#writer.acquire()
    if (this.#poison !== undefined) throw kvPoisoned(this.#poison)
    try {
      await this.#write(operations)
    } catch (error) {
      this.#poison = error
      throw kvPoisoned(error)
    }
  }

  protected override async release(): Promise<void> {
    using _permit = await this.#writer.acquire()
    this.#shelf.open = false
  }

  async #write(operations: readonly KvOperation[]): Promise<void> {
    const { life, faults } = this.#mount
    const shelf = this.#shelf
    await life.call({
      name: 'kv.commit',
      detail: `${this.#path} ${operations.length} operations`,
      data: operations.flatMap((each) => (each.tag === 'put' ? [each.key, each.value] : [each.key])),
      latencyMs: life.latency(3) * faults.slowness,
      begin: () => {
        const fault = faults.strike('commit', this.#path, life.chance)
        if (fault !== undefined) throw failureOf(fault, this.#path)
        shelf.underWay = operations
      },
      end: () => {
        shelf.map = shelf.map.apply(operations)
        shelf.underWay = undefined
      },
    })
  }

  #map(): SortedMap {
    if (this.closed) throw kvClosed()
    if (this.#poison !== undefined) throw kvPoisoned(this.#poison)
    return this.#shelf.map
  }
}
