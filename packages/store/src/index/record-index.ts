/**
 * The view every store begins with: for each kind and id the record with the highest LSN, and where it lies.
 *
 *     apply ─▶ overlay (memory) ─▶ batch {entries, live bytes, watermark} in one transaction ─▶ key-value store
 *                    └───────── a lookup asks the overlay first ─────────┘
 *
 * The overlay is what became durable in the journal and is not yet in the index. A crash loses it, and replaying the
 * journal from the watermark brings it back.
 */
import { CairnError, Closeable } from '@cairn/kernel'
import { type Kv, type KvOperation, kvClosed } from '@cairn/platform'
import { recordBytes, TOMBSTONE } from '../journal/format.ts'
import type { PlacedRecord } from '../journal/group.ts'
import type { Watermark } from '../journal/recovery.ts'
import { isSamePlace, type Place } from '../journal/segment.ts'
import type { StoreMachine } from '../machine.ts'
import {
  decodeEntry,
  decodeSegmentKey,
  decodeSegmentUse,
  decodeWatermark,
  encodeEntry,
  encodeSegmentUse,
  encodeWatermark,
  type IndexEntry,
  idOfKey,
  isSameStore,
  recordKey,
  recordRange,
  SEGMENT_RANGE,
  type SegmentUse,
  segmentKey,
  WATERMARK_KEY,
} from './entry-codec.ts'

/** Address space for the index, taken once: about 10⁸ chunks. */
const MAP_BYTES = 16 * 1024 * 1024 * 1024
/** Batches wait this long for company: each costs the key-value store two syncs of its own. */
const FLUSH_DELAY_MS = 200
/** Beyond this the overlay asks for patience instead of memory. */
const OVERLAY_ENTRIES_MAX = 65_536
/** Nor may so much of the journal be unindexed that replaying it would hold up the next start. */
const OVERLAY_RECORD_BYTES_MAX = 192 * 1024 * 1024
const REOPEN_MS = 1_000
/** Derived keys of one transaction: a transaction for each object would cost each two syncs. */
const DERIVED_TOGETHER = 4_096
/** The largest payload kept in the index itself. */
const INLINE_BYTES_MAX = 512

/** A key that changed: what the index had, and what it has now. */
export interface IndexChange {
  readonly kind: number
  readonly id: Uint8Array
  readonly before: IndexEntry | undefined
  readonly after: IndexEntry | undefined
}

/** What else is kept in the index, by whoever owns the kinds. */
export interface IndexViews {
  /** Further keys that follow from a change, in slices; they are written in order, and before or with the change itself. */
  readonly derive: (change: IndexChange) => AsyncIterable<readonly KvOperation[]>
  /** Told after each batch, with the LSN up to which the index is now complete. */
  readonly onFlushed: (lsn: number) => void
}

export interface RecordIndexOptions {
  readonly path: string
  /** Kinds whose small payloads are kept in the index. */
  readonly inlineKinds: readonly number[]
}

interface Changed {
  readonly kind: number
  readonly id: Uint8Array
  /** Absent when the key goes. */
  readonly entry: IndexEntry | undefined
}

type Overlay = Map<string, Changed>

export class RecordIndex extends Closeable {
  readonly #machine: StoreMachine
  readonly #options: RecordIndexOptions
  readonly #uses = new Map<number, SegmentUse>()
  #views: IndexViews | undefined
  #kv: Kv
  #overlay: Overlay = new Map()
  /** What the batch under way writes. */
  #committing: Overlay = new Map()
  #dirtySegments = new Set<number>()
  #watermark: Watermark | undefined
  #flushedWatermark: Watermark | undefined
  #endPause: (() => void) | undefined
  #store: Uint8Array | undefined
  /** Grows with every change; the flush that has seen a version has written it. */
  #version = 0
  #flushedVersion = 0
  /** Bytes of the records that were applied to each. */
  #overlayBytes = 0
  #committingBytes = 0
  #flushing: Promise<void> | undefined
  #failure: unknown

  private constructor(machine: StoreMachine, options: RecordIndexOptions, kv: Kv) {
    super(machine, `index ${options.path}`)
    this.#machine = machine
    this.#options = options
    this.#kv = kv
    this.#load()
  }

  static async open(machine: StoreMachine, options: RecordIndexOptions): Promise<RecordIndex> {
    const kv = await machine.kv.open(options.path, { mapBytes: MAP_BYTES })
    return new RecordIndex(machine, options, kv)
  }

  /** Up to where the journal is in the index, by the index's own durable word. */
  get watermark(): Watermark | undefined {
    return this.#flushedWatermark
  }

  /** The store it was made for, if it was used before. */
  get store(): Uint8Array | undefined {
    return this.#store
  }

  get isOverfull(): boolean {
    const entries = this.#overlay.size + this.#committing.size
    const recordBytes = this.#overlayBytes + this.#committingBytes
    return entries > OVERLAY_ENTRIES_MAX || recordBytes > OVERLAY_RECORD_BYTES_MAX
  }

  get failure(): unknown {
    return this.#failure
  }

  get kv(): Kv {
    return this.#kv
  }

  /** Before the first change. */
  setViews(views: IndexViews): void {
    this.#views = views
  }

  /** Binds the index to its store; one that was made for another is emptied first. */
  async adopt(store: Uint8Array): Promise<void> {
    const known = this.#store
    this.#store = store
    if (known === undefined || isSameStore(known, store)) return
    this.#machine.log.warn({}, 'the index belongs to another store and is rebuilt')
    await this.#empty()
  }

  get(kind: number, id: Uint8Array): IndexEntry | undefined {
    if (this.#overlay.size === 0 && this.#committing.size === 0) return this.#stored(kind, id)
    const name = nameOf(kind, id)
    const changed = this.#overlay.get(name) ?? this.#committing.get(name)
    return changed === undefined ? this.#stored(kind, id) : changed.entry
  }

  /** Takes in a record; an older one than what is known changes nothing. */
  apply(record: PlacedRecord): void {
    const known = this.get(record.kind, record.id)
    if (known === undefined || known.lsn < record.lsn) this.#take(record, known)
  }

  /**
   * Takes in a record that has just become durable. It is newer than anything known, so it is taken in even while the
   * store cannot be read; what it replaces then still counts as used, and its segment is compacted later than it could.
   */
  applyNewest(record: PlacedRecord): void {
    let known: IndexEntry | undefined
    try {
      known = this.get(record.kind, record.id)
    } catch (error) {
      this.#machine.log.warn({ error }, 'a record was indexed while the index cannot be read')
    }
    this.#take(record, known)
  }

  #take({ kind, id, lsn, place, flags, payload }: PlacedRecord, known: IndexEntry | undefined): void {
    this.#overlayBytes += recordBytes(payload.length)
    const isTombstone = (flags & TOMBSTONE) !== 0
    const isInline = this.#options.inlineKinds.includes(kind) && payload.length <= INLINE_BYTES_MAX
    const entry = { lsn, isTombstone, place, inline: isInline ? payload.slice() : undefined }
    this.#set({ kind, id, entry }, known)
  }

  /** Says up to where everything was applied; written with the next batch. */
  advance(watermark: Watermark): void {
    this.#watermark = watermark
    this.#changed()
  }

  /** Points the entry to a copy, if it is still what was copied. */
  move(kind: number, id: Uint8Array, from: Place, to: Place): boolean {
    const known = this.get(kind, id)
    if (known === undefined || !isSamePlace(known.place, from)) return false
    this.#set({ kind, id, entry: { ...known, place: to } }, known)
    return true
  }

  /** Forgets the entry, if it is still this record: a tombstone nobody needs, or a chunk that turned out damaged. */
  forget(kind: number, id: Uint8Array, place: Place): boolean {
    const known = this.get(kind, id)
    if (known === undefined || !isSamePlace(known.place, place)) return false
    this.#set({ kind, id, entry: undefined }, known)
    return true
  }

  /** How much of this segment the index still points to. */
  use(segment: number): SegmentUse {
    return this.#uses.get(segment) ?? { liveBytes: 0, tombstoneBytes: 0 }
  }

  /** The segment is gone. */
  forgetSegment(segment: number): void {
    this.#uses.delete(segment)
    this.#dirtySegments.add(segment)
    this.#changed()
  }

  /** Entries of a kind in order of id, as they are in the store; what only the overlay knows is not among them. */
  *stored(kind: number, after: Uint8Array | undefined, limit: number): Iterable<{ id: Uint8Array; entry: IndexEntry }> {
    for (const { key, value } of this.#kv.range({ ...recordRange(kind, after), limit })) {
      yield { id: idOfKey(key), entry: decodeEntry(value) }
    }
  }

  /** Everything applied before this call is in the store when it resolves. `Canceled` once it is being closed. */
  async flush(): Promise<void> {
    if (this.closed) throw kvClosed()
    await this.#flush()
  }

  async #flush(): Promise<void> {
    const target = this.#version
    while (this.#flushedVersion < target) {
      const round = (this.#flushing ??= this.#flushRound())
      this.#endPause?.()
      await round
      if (this.#failure !== undefined) throw indexFailed(this.#failure)
    }
  }

  protected override async release(): Promise<void> {
    // What cannot be written now is replayed from the journal next time.
    await Promise.allSettled([this.#flush()])
    this.#endPause?.()
    await Promise.allSettled([this.#flushing])
    await this.#kv.close()
  }

  #load(): void {
    this.#uses.clear()
    for (const { key, value } of this.#kv.range(SEGMENT_RANGE)) {
      this.#uses.set(decodeSegmentKey(key), decodeSegmentUse(value))
    }
    const value = this.#kv.get(WATERMARK_KEY)
    if (value === undefined) return
    const { store, watermark } = decodeWatermark(value)
    this.#store = store
    this.#watermark = watermark
    this.#flushedWatermark = watermark
  }

  #stored(kind: number, id: Uint8Array): IndexEntry | undefined {
    const value = this.#kv.get(recordKey(kind, id))
    return value === undefined ? undefined : decodeEntry(value)
  }

  #set(changed: Changed, known: IndexEntry | undefined): void {
    this.#overlay.set(nameOf(changed.kind, changed.id), changed)
    if (known !== undefined) this.#account(known, -1)
    if (changed.entry !== undefined) this.#account(changed.entry, 1)
    this.#changed()
  }

  #account({ place, isTombstone }: IndexEntry, sign: 1 | -1): void {
    const { liveBytes, tombstoneBytes } = this.use(place.segment)
    const bytes = sign * recordBytes(place.length)
    this.#uses.set(place.segment, {
      liveBytes: liveBytes + bytes,
      tombstoneBytes: tombstoneBytes + (isTombstone ? bytes : 0),
    })
    this.#dirtySegments.add(place.segment)
  }

  #changed(): void {
    this.#version += 1
    this.#begin()
  }

  #begin(): void {
    if (this.closed) return
    this.#flushing ??= this.#flushRound()
  }

  /** One batch, after a pause for company; a failure leaves everything in the overlay and the store to be reopened. */
  async #flushRound(): Promise<void> {
    await this.#pause(FLUSH_DELAY_MS)
    const version = this.#version
    const watermark = this.#watermark
    const segments = new Map([...this.#dirtySegments].map((segment) => [segment, this.#uses.get(segment)]))
    this.#committing = this.#overlay
    this.#committingBytes = this.#overlayBytes
    this.#overlay = new Map()
    this.#overlayBytes = 0
    this.#dirtySegments = new Set()
    try {
      if (this.#failure !== undefined) await this.#reopen()
      await this.#commit(watermark, segments)
      this.#committing = new Map()
      this.#flushedVersion = version
      this.#committingBytes = 0
      this.#failure = undefined
      this.#flushedWatermark = watermark
      if (watermark !== undefined) this.#views?.onFlushed(watermark.lsn)
    } catch (error) {
      this.#failure = error
      this.#overlay = new Map([...this.#committing, ...this.#overlay])
      this.#overlayBytes += this.#committingBytes
      this.#committing = new Map()
      this.#committingBytes = 0
      for (const segment of segments.keys()) this.#dirtySegments.add(segment)
      this.#machine.log.error({ error }, 'the index could not be written; it is opened again')
      await this.#pause(REOPEN_MS)
    } finally {
      this.#flushing = undefined
      if (this.#flushedVersion < this.#version) this.#begin()
    }
  }

  async #commit(
    watermark: Watermark | undefined,
    segments: ReadonlyMap<number, SegmentUse | undefined>,
  ): Promise<void> {
    const operations: KvOperation[] = []
    let derived: KvOperation[] = []
    for (const { kind, id, entry } of this.#committing.values()) {
      const change = { kind, id, before: this.#stored(kind, id), after: entry }
      for await (const slice of this.#views?.derive(change) ?? []) {
        derived.push(...slice)
        if (derived.length < DERIVED_TOGETHER) continue
        await this.#kv.commit(derived)
        derived = []
      }
      const key = recordKey(kind, id)
      operations.push(entry === undefined ? { tag: 'delete', key } : { tag: 'put', key, value: encodeEntry(entry) })
    }
    for (const [segment, use] of segments) {
      const key = segmentKey(segment)
      operations.push(use === undefined ? { tag: 'delete', key } : { tag: 'put', key, value: encodeSegmentUse(use) })
    }
    if (watermark !== undefined && this.#store !== undefined) {
      operations.push({ tag: 'put', key: WATERMARK_KEY, value: encodeWatermark(this.#store, watermark) })
    }
    await this.#kv.commit([...derived, ...operations])
  }

  async #reopen(): Promise<void> {
    await Promise.allSettled([this.#kv.close()])
    this.#kv = await this.#machine.kv.open(this.#options.path, { mapBytes: MAP_BYTES })
  }

  async #empty(): Promise<void> {
    const keys = [...this.#kv.range({})].map(({ key }): KvOperation => ({ tag: 'delete', key }))
    await this.#kv.commit(keys)
    this.#uses.clear()
    this.#watermark = undefined
    this.#flushedWatermark = undefined
  }

  /** Waits, unless somebody is in a hurry. */
  async #pause(ms: number): Promise<void> {
    if (this.closed) return
    await new Promise<void>((resolve) => {
      const end = (): void => {
        timer.cancel()
        this.#endPause = undefined
        resolve()
      }
      const timer = this.#machine.clock.timer(ms, end)
      this.#endPause = end
    })
  }
}

function nameOf(kind: number, id: Uint8Array): string {
  return String.fromCharCode(kind, ...id)
}

function indexFailed(cause: unknown): CairnError {
  return new CairnError('StorageBusy', 'The index cannot be written now; it is opened again.', {
    code: 'index_failed',
    retryAfterMs: REOPEN_MS,
    cause,
  })
}
