/**
 * The cache of bytes that came from elsewhere: chunks in a store of its own, and a table of what they are.
 *
 *     fill ─▶ BodyWriter ─▶ chunks (durable) ─▶ entry in the table ─▶ (janitor) records in the same store
 *
 * The table is the truth while the service runs; the records are what it starts from. Chunks that no entry of it needs
 * are removed after the start.
 */
import { CairnError, Closeable, Semaphore } from '@cairn/kernel'
import { makeDirectories, type Platform } from '@cairn/platform'
import { type ChunkBytes, DriveStore, type TableChange } from '@cairn/store'
import { type Address, addressOf, type ByteRange, blake3 } from '@cairn/wire'
import { CHUNK_BYTES, decodeEntry, encodeEntry, type StoredBody, type StoredEntry } from './entry.ts'
import * as core from './entry-table-core.ts'

/** Entries cost memory whatever their bodies have. */
const ENTRIES_MAX = 100_000
/** One that lists more chunks than this has room for is not found again after a restart. */
const ENTRY_BYTES_MAX = 2 * 1024 * 1024
const REMOVALS_PER_ROUND = 4096
const LEASE = 'edge'

export interface CasOptions {
  readonly path: string
  readonly bytesMax: number
  readonly cacheBytes: number
  readonly ioTimeoutMs: number
}

export class Cas extends Closeable {
  readonly bytesMax: number
  readonly #platform: Platform
  readonly #storage: DriveStore
  /** One write of the records at a time: whoever has waited for it knows that everything before it is written. */
  readonly #turn = new Semaphore(1)
  /** What the records have and the table does not: it could be read again one day, and would be back. */
  #unread: readonly Uint8Array[] = []
  readonly #table: core.EntryTable
  /** Chunks of a former life are looked through once. */
  #orphansAfter: Address | undefined | 'done'

  private constructor(platform: Platform, options: CasOptions, storage: DriveStore) {
    super(platform, `cas ${options.path}`)
    this.#platform = platform
    this.bytesMax = options.bytesMax
    this.#storage = storage
    this.#table = core.createTable()
  }

  static async open(platform: Platform, options: CasOptions): Promise<Cas> {
    const { path, bytesMax, cacheBytes, ioTimeoutMs } = options
    await makeDirectories(platform.disk, path)
    const segmentBytes = Math.min(64 * 1024 * 1024, Math.max(2 * 1024 * 1024, Math.floor(bytesMax / 16)))
    const storage = await DriveStore.open(platform, {
      path,
      cacheBytes,
      ioTimeoutMs,
      segmentBytes,
      reserveBytes: segmentBytes,
      // Nobody else has copies that a tombstone would have to beat.
      tombstoneKeepMs: 0,
    })
    try {
      const cas = new Cas(platform, options, storage)
      await cas.#load()
      return cas
    } catch (error) {
      await storage.close()
      throw error
    }
  }

  /** Entries of the former life whose chunks are all here. */
  async #load(): Promise<void> {
    const unread: Uint8Array[] = []
    for await (const { key, value } of this.#storage.table.entries()) {
      const entry = decodeEntry(value)
      if (entry?.body.chunks.every((id) => this.#storage.chunks.exists(id)) === true) core.put(this.#table, entry)
      else unread.push(key)
    }
    this.#unread = unread
    this.#table.dirty.clear()
    core.evict(this.#table, this.bytesMax, ENTRIES_MAX)
  }

  entriesOf(key: string): readonly StoredEntry[] {
    return core.entriesOf(this.#table, key)
  }

  /** The entry was used: it goes later. */
  touch(entry: StoredEntry): void {
    core.touch(this.#table, entry)
  }

  put(entry: StoredEntry): void {
    core.put(this.#table, entry)
    this.#evict()
  }

  remove(entry: StoredEntry): void {
    core.remove(this.#table, entry)
  }

  /** Everything stored under the key goes, for good once that is written; how much that was. */
  invalidate(key: string): number {
    const entries = core.entriesOf(this.#table, key)
    for (const entry of entries) core.remove(this.#table, entry)
    return entries.length
  }

  facts(): { readonly bytes: number; readonly entries: number; readonly isWritable: boolean } {
    const { unready, isStalled } = this.#storage.facts()
    return {
      bytes: this.#table.bytes,
      entries: this.#table.byUse.size,
      isWritable: unready === undefined && !isStalled,
    }
  }

  /** Counts the chunk as needed and stores it; whoever calls this releases it, or puts an entry that needs it first. */
  async keepChunk(bytes: Uint8Array): Promise<{ readonly id: Address; readonly isNew: boolean }> {
    const id = addressOf(bytes)
    core.retain(this.#table, id, bytes.length)
    try {
      const isNew = (await this.#storage.chunks.put(id, bytes, { upload: LEASE })) === 'new'
      return { id, isNew }
    } catch (error) {
      core.release(this.#table, id)
      throw error
    }
  }

  /** Keeps the chunks of the body until it is disposed of, whoever else lets go of them; nothing if one has gone. */
  hold(body: StoredBody): Disposable | undefined {
    if (!body.chunks.every((id) => this.#table.chunks.has(id))) return undefined
    core.retainBody(this.#table, body)
    return { [Symbol.dispose]: () => core.releaseBody(this.#table, body) }
  }

  releaseChunks(ids: Iterable<Address>): void {
    for (const id of ids) core.release(this.#table, id)
  }

  /** The only chunk of a short body, if it is in memory. */
  hot({ chunks }: StoredBody): ChunkBytes | undefined {
    const [only] = chunks
    return chunks.length === 1 && only !== undefined ? this.#storage.chunks.cached(only) : undefined
  }

  async readChunk(id: Address): Promise<ChunkBytes> {
    const chunk = await this.#storage.chunks.read(id)
    if (chunk !== undefined) return chunk
    throw new CairnError('Integrity', 'A part of this is gone from the cache; ask again.', { code: 'cas_damaged' })
  }

  /** The range of the body; its chunks stay as long as it is read. */
  async *read(body: StoredBody, range: ByteRange): AsyncGenerator<Uint8Array> {
    if (range.last < range.first) return
    core.retainBody(this.#table, body)
    try {
      for (let at = range.first; at <= range.last; ) {
        const index = Math.floor(at / CHUNK_BYTES)
        const id = body.chunks[index]
        if (id === undefined) throw new CairnError('Internal', 'A range leaves the body it is of.')
        using chunk = await this.readChunk(id)
        const start = index * CHUNK_BYTES
        const part = chunk.bytes.subarray(at - start, range.last + 1 - start)
        at += part.length
        yield part
      }
    } finally {
      core.releaseBody(this.#table, body)
    }
  }

  #evict(): void {
    const gone = core.evict(this.#table, this.bytesMax, ENTRIES_MAX)
    if (gone > 0) this.#platform.metrics.count('edge_cas_evictions_total', {}, gone)
  }

  /** One round of the janitor: the records as the table is, doomed chunks removed, and space given back. */
  async tidy(): Promise<void> {
    await this.writeIndex()
    await this.#findOrphans()
    for (const id of [...this.#table.doomed].slice(0, REMOVALS_PER_ROUND)) {
      if (core.takeDoomed(this.#table, id)) await this.#storage.chunks.remove(id)
    }
    while ((await this.#storage.compactor.compactOne()) !== undefined);
  }

  /** The records are as the table was when this was called, durably. */
  async writeIndex(): Promise<void> {
    using _turn = await this.#turn.acquire()
    const ids = [...this.#table.dirty]
    const unread = this.#unread
    if (ids.length + unread.length === 0) return
    this.#table.dirty.clear()
    const changes = ids.map((id): TableChange => {
      const entry = this.#table.byUse.get(id)
      const value = entry === undefined ? undefined : encodeEntry(entry)
      const isLong = value !== undefined && value.length > ENTRY_BYTES_MAX
      return { key: blake3(new TextEncoder().encode(id)), value: isLong ? undefined : value }
    })
    try {
      await this.#storage.table.write([...unread.map((key) => ({ key, value: undefined })), ...changes])
      this.#unread = []
    } catch (error) {
      // What went must not be back after a restart: it is written with the next round.
      for (const id of ids) this.#table.dirty.add(id)
      throw error
    }
  }

  async #findOrphans(): Promise<void> {
    if (this.#orphansAfter === 'done') return
    const page = await this.#storage.chunks.list(this.#orphansAfter, REMOVALS_PER_ROUND)
    for (const id of page) if (!this.#table.chunks.has(id)) this.#table.doomed.add(id)
    this.#orphansAfter = page.at(-1) ?? 'done'
  }

  protected override async release(): Promise<void> {
    try {
      await this.writeIndex()
    } catch (error) {
      // A drive that refuses does not keep the service from ending.
      this.#platform.log.warn({ error }, 'what the cache knows could not be written before the end')
    }
    await this.#storage.close()
  }
}
