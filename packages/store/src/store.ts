/**
 * A journal, its index and the leases of one drive: what chunk and object stores are made of.
 *
 *     write ─▶ journal ─▶ index                     lookup ─▶ index ─▶ place ─▶ journal.read
 *                           ▲
 *     open: replay from the watermark. Only if the index was lost does that take long; it answers 503 until then
 */
import { CairnError, Closeable } from '@cairn/kernel'
import { type Address, addressFromDigest, digestOf } from '@cairn/wire'
import * as leases from './chunk/lease-core.ts'
import type { IndexEntry } from './index/entry-codec.ts'
import { type IndexViews, RecordIndex } from './index/record-index.ts'
import type { Submission, SubmitOptions } from './journal/appender.ts'
import { setInteger, TOMBSTONE, viewOf } from './journal/format.ts'
import type { Draft, PlacedRecord } from './journal/group.ts'
import { Journal } from './journal/journal.ts'
import type { Position } from './journal/segment.ts'
import type { StoreMachine } from './machine.ts'

const LEASE_MS = 60 * 60 * 1000

/** What kinds of record a storage drive holds. A kind is one byte on disk and never changes its meaning. */
export const KIND = { chunk: 1, object: 2, hold: 3 } as const

export interface StoreOptions {
  /** Holds `journal/` and `index/`. */
  readonly path: string
  readonly segmentBytes?: number
  readonly reserveBytes?: number
  readonly ioTimeoutMs?: number
  readonly leaseMs?: number
}

export interface StoreFacts {
  readonly unready: CairnError | undefined
  readonly isStalled: boolean
  readonly isCatchingUp: boolean
  readonly damagedSegments: readonly number[]
  /** The highest that is durable. */
  readonly syncedLsn: number
}

export class Store extends Closeable {
  readonly machine: StoreMachine
  readonly index: RecordIndex
  readonly leases: leases.LeaseCore
  readonly #options: StoreOptions
  readonly #stop = new AbortController()
  #journal: Journal | undefined
  #catchingUp: Promise<void> | undefined
  #liveEnd: Position | undefined

  private constructor(machine: StoreMachine, options: StoreOptions, index: RecordIndex) {
    super(machine, `store ${options.path}`)
    this.machine = machine
    this.#options = options
    this.index = index
    this.leases = leases.createLeases(options.leaseMs ?? LEASE_MS, machine.clock.now())
  }

  /** Opens the index; the store is of use after `start`. */
  static async open(machine: StoreMachine, options: StoreOptions): Promise<Store> {
    const inlineKinds = [KIND.object, KIND.hold]
    const index = await RecordIndex.open(machine, { path: `${options.path}/index`, inlineKinds })
    return new Store(machine, options, index)
  }

  /** Opens the journal and replays what the index lacks: here if that is little, else while the store serves. */
  async start(views: IndexViews): Promise<void> {
    const { path, ...options } = this.#options
    this.index.setViews(views)
    const { watermark, store } = this.index
    const sink = (records: readonly PlacedRecord[], end: Position): void => this.#sink(records, end)
    const journal = await Journal.open(this.machine, { ...options, path: `${path}/journal`, watermark, store, sink })
    this.#journal = journal
    await this.index.adopt(journal.storeId)
    const behindBytes = journal.bytesAfter(this.index.watermark)
    this.#catchingUp = this.#catchUp(journal)
    // Up to a segment takes a fraction of a second; more than that is missing only when the index was lost.
    if (behindBytes <= journal.segmentBytes) await this.#catchingUp
    else this.#catchingUp.catch((error: unknown) => this.#stuck(error))
  }

  get journal(): Journal {
    if (this.#journal === undefined) throw new CairnError('Canceled', 'The store is not open.')
    return this.#journal
  }

  facts(): StoreFacts {
    const { journal } = this
    const damaged = journal.segments().filter(({ damage }) => damage.length > 0)
    return {
      unready: journal.unready,
      isStalled: journal.isStalled,
      isCatchingUp: this.#catchingUp !== undefined,
      syncedLsn: journal.syncedLsn,
      damagedSegments: [...journal.unreadable, ...damaged.map(({ number }) => number)],
    }
  }

  /** Resolves when everything in the journal is in the index. */
  async caughtUp(): Promise<void> {
    await this.#catchingUp
  }

  /** The newest record of this kind and id that is not a tombstone. While the index catches up there is no answer. */
  lookup(kind: number, id: Uint8Array): IndexEntry | undefined {
    // What is found might have been deleted, what is not found might be there: later records tell, and are not read yet.
    if (this.#catchingUp !== undefined) throw stillReading()
    const entry = this.index.get(kind, id)
    return entry?.isTombstone === true ? undefined : entry
  }

  /** The same, tombstones too. */
  lookupNewest(kind: number, id: Uint8Array): IndexEntry | undefined {
    if (this.#catchingUp !== undefined) throw stillReading()
    return this.index.get(kind, id)
  }

  /** Ids of a kind in order, after the given one; tombstones are passed over. */
  async list(kind: number, after: Address | undefined, limit: number): Promise<Address[]> {
    await this.caughtUp()
    await this.index.flush()
    const found: Address[] = []
    let from = after === undefined ? undefined : digestOf(after)
    while (found.length < limit) {
      const page = [...this.index.stored(kind, from, limit)]
      if (page.length === 0) break
      for (const { id, entry } of page) {
        if (!entry.isTombstone && found.length < limit) found.push(addressFromDigest(id))
        from = id
      }
    }
    return found
  }

  /** Puts records in line; `StorageBusy` when the index is too far behind to remember more. */
  submit(drafts: readonly Draft[], options: SubmitOptions = {}): Submission {
    if (this.index.isOverfull) {
      const detail = 'The index is behind the journal; try again shortly.'
      throw new CairnError('StorageBusy', detail, { code: 'index_behind', retryAfterMs: 1_000 })
    }
    return this.journal.submit(drafts, options)
  }

  /** A record that says that the id is gone, dated for the time tombstones are kept. */
  tombstone(kind: number, id: Uint8Array, version = 0): Draft {
    const payload = new Uint8Array(version === 0 ? 8 : 16)
    setInteger(viewOf(payload), 0, this.machine.clock.wall())
    if (version !== 0) setInteger(viewOf(payload), 8, version)
    return { kind, flags: TOMBSTONE, id, payload }
  }

  protected override async release(): Promise<void> {
    this.#stop.abort()
    await this.#journal?.finish()
    await Promise.allSettled([this.#catchingUp])
    // The last batch may still have to read pages.
    await this.index.close()
    await this.#journal?.close()
  }

  async #catchUp(journal: Journal): Promise<void> {
    let lsn = 0
    for await (const event of journal.replay(this.index.watermark)) {
      if (this.#stop.signal.aborted) return
      if (event.tag === 'damage') continue
      this.index.apply(event)
      lsn = Math.max(lsn, event.lsn)
      if (!this.index.isOverfull) continue
      // From here a restart goes on instead of beginning again.
      this.index.advance({ ...event.end, lsn })
      await this.index.flush()
    }
    this.#catchingUp = undefined
    const end = this.#liveEnd ?? journal.openedAt
    if (end !== undefined) this.index.advance({ ...end, lsn: journal.syncedLsn })
  }

  #stuck(error: unknown): void {
    if (!this.#stop.signal.aborted) this.machine.log.error({ error }, 'the index cannot be brought up to date')
  }

  #sink(records: readonly PlacedRecord[], end: Position): void {
    for (const record of records) this.index.applyNewest(record)
    this.#liveEnd = end
    if (this.#catchingUp === undefined) this.index.advance({ ...end, lsn: this.journal.syncedLsn })
  }
}

function stillReading(): CairnError {
  const detail = 'The index is being rebuilt from the journal; ask again in a moment.'
  return new CairnError('StorageBusy', detail, { code: 'rebuilding', retryAfterMs: 1_000 })
}
