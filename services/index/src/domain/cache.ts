/**
 * Answers that were found, kept for a while.
 *
 *     lookups ── keep ──▶ cache_writes ──▶ janitor ──▶ entries ──▶ read by everybody
 *
 * A full queue loses the write and nothing else: the answer has been given already.
 */
import { openQueue, type Queue, type Runtime, Scope, sleep, type TaskBody } from '@cairn/kernel'
import { INDEX_TOPOLOGY } from '../topology.ts'
import * as core from './cache-core.ts'

export interface CacheLimits {
  readonly entries: number
  readonly isPinned: (key: string) => boolean
}

/** How soon what has expired gives its memory back; it is not read any more from the moment it does. */
const SWEEP_MS = 1000

export class Cache<V> {
  readonly #runtime: Runtime
  readonly #limits: () => CacheLimits
  readonly #core = core.createCache<V>()
  readonly #writes: Queue<core.CacheWrite<V>>

  constructor(runtime: Runtime, limits: () => CacheLimits) {
    this.#runtime = runtime
    this.#limits = limits
    this.#writes = openQueue(runtime, INDEX_TOPOLOGY, 'cache_writes')
  }

  get size(): number {
    return this.#core.entries.size
  }

  read(key: string): core.CacheEntry<V> | undefined {
    return core.readEntry(this.#core, key, this.#runtime.clock.now())
  }

  /** Asks the janitor to keep the answer for so long. */
  keep(key: string, value: V, ttlMs: number): void {
    const storedAt = this.#runtime.clock.now()
    this.#write({ key, entry: { value, storedAt, expiresAt: storedAt + ttlMs } })
  }

  /** Asks the janitor to let go of what is kept, because something else is known by now. */
  forget(key: string): void {
    if (this.read(key) !== undefined) this.#write({ key, entry: undefined })
  }

  #write(write: core.CacheWrite<V>): void {
    const left = core.leaveWrite(this.#writes, write)
    if (left === 'lost') this.#runtime.metrics.count('index_cache_writes_lost_total')
  }

  /** The body of the janitor, the only writer. In amnesia everything is forgotten every `purgeMs`. */
  janitor(purgeMs: number | undefined): TaskBody {
    return async ({ draining }) => {
      await using scope = new Scope(this.#runtime, 'cache-janitor', { signals: [draining] })
      scope.spawn('writes', async (signal) => await this.#takeWrites(signal))
      scope.spawn('sweeps', async (signal) => await this.#every(SWEEP_MS, signal, () => this.#sweep()))
      if (purgeMs !== undefined) {
        scope.spawn('purges', async (signal) => await this.#every(purgeMs, signal, () => this.#purge()))
      }
      await scope.join()
    }
  }

  async #takeWrites(signal: AbortSignal): Promise<void> {
    for (;;) {
      const next = await this.#writes.recv({ signal })
      if (next.tag === 'closed') return
      const { key, entry } = next.item
      if (entry === undefined) core.forgetEntry(this.#core, key)
      else core.writeEntry(this.#core, key, entry, this.#limits())
    }
  }

  async #every(ms: number, signal: AbortSignal, act: () => void): Promise<void> {
    for (;;) {
      await sleep(this.#runtime.clock, ms, { signal })
      act()
    }
  }

  #sweep(): void {
    core.sweepEntries(this.#core, this.#runtime.clock.now())
    this.#runtime.metrics.set('index_cache_size', this.size)
  }

  #purge(): void {
    this.#core.entries.clear()
    this.#runtime.metrics.count('amnesia_purge_total', { kind: 'cache' })
  }

  close(): void {
    this.#writes.abort()
    this.#core.entries.clear()
  }
}
