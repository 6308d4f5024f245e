/**
 * A journal, its index and the leases of one drive: what chunk and object stores are made of.
 *
 *     write ─▶ journal ─▶ index                     lookup ─▶ index ─▶ place ─▶ journal.read
 *                           ▲
 *     open: from side files, or from the segments themselves. What is not known yet is answered 503
 */
import { CairnError, Closeable, isKind, toCairnError } from '@cairn/kernel'
import { type Address, addressFromDigest, digestOf, equalBytes } from '@cairn/wire'
import * as leases from './chunk/lease-core.ts'
import type { StoreMachine } from './drive/drive.ts'
import { readDurableHint } from './index/durable-hint.ts'
import { type IndexFacts, IndexKeeper, type ListedRecord } from './index/index-keeper.ts'
import type { Learnt } from './index/index-loader.ts'
import type { IndexEntry } from './index/keydir-core.ts'
import { RecordIndex, SALT_BYTES } from './index/record-index.ts'
import type { Submission, SubmitOptions } from './journal/appender.ts'
import {
  RECORD_ALIGNMENT,
  RECORD_HEADER_BYTES,
  type RecordHeader,
  setInteger,
  TOMBSTONE,
  viewOf,
} from './journal/format.ts'
import { Journal, type ReserveFacts } from './journal/journal.ts'
import type { LogCut } from './journal/recovery.ts'
import { type Draft, isSamePlace, type PlacedRecord, type RecordPlace } from './journal/segment.ts'
import { createMarks } from './object/mark-core.ts'
import { decodeHold } from './object/object-record.ts'

const LEASE_MS = 60 * 60 * 1000
const NONE = new Uint8Array(0)
/** A record may move, and the index be put right, while it is looked for. */
const LOOKS_MAX = 3

/** What kinds of record a storage drive holds. A kind is one byte on disk and never changes its meaning. */
export const KIND = { chunk: 1, object: 2, hold: 3, note: 4 } as const

export interface RecordStoreOptions {
  /** Holds `journal/` and `index/`. */
  readonly path: string
  readonly segmentBytes?: number
  readonly reserveBytes?: number
  readonly ioTimeoutMs?: number
  readonly leaseMs?: number
  /** Told of each segment how the index learnt what it holds. */
  readonly onLearnt?: (how: Learnt) => void
}

export interface StoreFacts {
  readonly unready: CairnError | undefined
  readonly isStalled: boolean
  readonly isCatchingUp: boolean
  readonly damagedSegments: readonly number[]
  /** What was cut off the end of the log when it was opened. */
  readonly cut: LogCut | undefined
  readonly reserve: ReserveFacts
  /** The highest that is durable. */
  readonly syncedLsn: number
  /** How the index came to be at this start. */
  readonly index: IndexFacts
}

export class RecordStore extends Closeable {
  readonly machine: StoreMachine
  readonly index: RecordIndex
  readonly leases: leases.LeaseCore
  readonly marks = createMarks()
  readonly #options: RecordStoreOptions
  readonly #stop = new AbortController()
  #open: { readonly journal: Journal; readonly keeper: IndexKeeper } | undefined
  #catchingUp: Promise<void> | undefined

  constructor(machine: StoreMachine, options: RecordStoreOptions) {
    super(machine, `store ${options.path}`)
    this.machine = machine
    this.#options = options
    this.index = new RecordIndex({ salt: machine.random.bytes(SALT_BYTES), heldBy })
    this.leases = leases.createLeases(options.leaseMs ?? LEASE_MS, machine.clock.now())
  }

  /** Opens the journal and reads what the index needs: here if that is little, else while the store serves. */
  async start(): Promise<void> {
    const { path, ...options } = this.#options
    const sink = (records: readonly PlacedRecord[]): void => this.#sink(records)
    const onSealed = (): void => this.#open?.keeper.sealed()
    const at = `${path}/journal`
    const place = { path: at, holdsReserve: true }
    const hint = await readDurableHint(this.machine, at, options.ioTimeoutMs)
    const journal = await Journal.open(this.machine, { ...options, ...hint, ...place, sink, onSealed })
    const { machine, index } = this
    const reserveBytes = options.reserveBytes ?? 2 * journal.segmentBytes
    const { onLearnt } = options
    const parts = { machine, journal, index, reserveBytes, onLearnt }
    const keeper = new IndexKeeper({ ...parts, holdKind: KIND.hold, heldBy })
    this.#open = { journal, keeper }
    const isLittle = await keeper.begin()
    this.#catchingUp = this.#load(keeper)
    if (isLittle) await this.#catchingUp
    else this.#catchingUp.catch((error: unknown) => this.#stuck(error))
  }

  get journal(): Journal {
    return this.#opened().journal
  }

  /** For the compactor. */
  get keeper(): IndexKeeper {
    return this.#opened().keeper
  }

  #opened(): { readonly journal: Journal; readonly keeper: IndexKeeper } {
    if (this.#open === undefined) throw new CairnError('Canceled', 'The store is not open.')
    return this.#open
  }

  facts(): StoreFacts {
    const { journal } = this
    const damaged = journal.segments().filter(({ damage }) => damage.length > 0)
    return {
      unready: journal.unready,
      isStalled: journal.isStalled,
      isCatchingUp: !this.index.isComplete,
      syncedLsn: journal.syncedLsn,
      cut: journal.cut,
      reserve: journal.reserve,
      index: this.keeper.facts,
      damagedSegments: [...journal.unreadable, ...this.keeper.lost, ...damaged.map(({ number }) => number)],
    }
  }

  /**
   * What of the journal cannot be read, in a sentence; `undefined` if nothing is hidden. Whatever is hidden may refer to
   * anything. A record whose header is sound hides nothing if it is a chunk, a delete, or not the newest of its id.
   */
  async blindness(): Promise<string | undefined> {
    const [unreadable] = [...this.journal.unreadable, ...this.keeper.lost]
    if (unreadable !== undefined) return `Segment ${unreadable} cannot be read.`
    for (const { number, damage } of this.journal.segments()) {
      for (const { from, to } of damage) {
        const header = await this.#headerOf(number, from, to)
        if (header === undefined || this.#hides(header)) return `Segment ${number} is damaged at byte ${from}.`
      }
    }
    return undefined
  }

  #hides({ kind, id, lsn, flags }: RecordHeader): boolean {
    if (kind === KIND.chunk || (flags & TOMBSTONE) !== 0) return false
    return (this.index.get(kind, id)?.lsn ?? 0) <= lsn
  }

  /** The header of the one record that fills this stretch, if it is sound. */
  async #headerOf(segment: number, from: number, to: number): Promise<RecordHeader | undefined> {
    for (let padding = 0; padding < RECORD_ALIGNMENT; padding += 1) {
      const length = to - from - RECORD_HEADER_BYTES - padding
      if (length < 0) return undefined
      try {
        return await this.journal.readHeader({ segment, offset: from, length })
      } catch (error) {
        if (!isKind(error, 'Integrity') && !isKind(error, 'NotFound')) throw error
      }
    }
    return undefined
  }

  /** Resolves when everything in the journal is in the index. */
  async caughtUp(): Promise<void> {
    await this.#catchingUp
  }

  /** The newest record of this kind and id that is not a tombstone; 503 while something newer may be unread. */
  lookup(kind: number, id: Uint8Array): IndexEntry | undefined {
    const entry = this.lookupNewest(kind, id)
    return entry?.isTombstone === true ? undefined : entry
  }

  /** The same, tombstones too. */
  lookupNewest(kind: number, id: Uint8Array): IndexEntry | undefined {
    const entry = this.index.get(kind, id)
    // What is found might have been deleted, what is not found might be there: what is not read yet would tell.
    if (!this.index.isDefinitive(entry)) throw stillReading()
    return entry
  }

  /** What was found at this place is not what was looked for. False if the place is right, and just damaged. */
  async isMended(kind: number, id: Uint8Array, { place, lsn }: IndexEntry): Promise<boolean> {
    await this.keeper.mend(kind, id)
    const now = this.index.get(kind, id)
    return now?.lsn !== lsn || !isSamePlace(now.place, place)
  }

  /** Whether any reader found what lies there damaged or lost. */
  isDamagedAt(place: RecordPlace): boolean {
    return this.keeper.isLost(place.segment) || this.journal.isDamagedAt(place)
  }

  /** The newest record of this kind and id, read and proved; `undefined` if there is none, or it is a tombstone. */
  async read(kind: number, id: Uint8Array): Promise<(RecordHeader & { readonly payload: Uint8Array }) | undefined> {
    for (let look = 1; ; look += 1) {
      const entry = this.lookup(kind, id)
      if (entry === undefined) return undefined
      try {
        const record = await this.journal.read(entry.place)
        if (record.kind === kind && equalBytes(record.id, id)) return record
        throw new CairnError('Integrity', 'A record is not where the index says it is.')
      } catch (error) {
        // It may have moved while it was read, or never have been there.
        const isPassing = isKind(error, 'NotFound') || isKind(error, 'Integrity')
        if (this.keeper.isLost(entry.place.segment)) throw damagedRecord()
        if (!isPassing || look === LOOKS_MAX || !(await this.#isElsewhere(kind, id, entry))) throw asRefusal(error)
      }
    }
  }

  async #isElsewhere(kind: number, id: Uint8Array, entry: IndexEntry): Promise<boolean> {
    const now = this.index.get(kind, id)
    if (now === undefined || !isSamePlace(now.place, entry.place)) return true
    return await this.isMended(kind, id, entry)
  }

  /** Throws while the index is incomplete: for answers that need all of it. */
  mustBeComplete(): void {
    if (!this.index.isComplete) throw stillReading()
  }

  /** Records of a kind in order of id, after the given one, tombstones among them. Waits for the index to be complete. */
  async records(kind: number, after: Uint8Array | undefined, limit: number): Promise<ListedRecord[]> {
    await this.caughtUp()
    this.mustBeComplete()
    try {
      return await this.keeper.list(kind, after, limit)
    } catch (error) {
      throw asRefusal(error)
    }
  }

  /** Ids of a kind in order, after the given one; tombstones are passed over. */
  async list(kind: number, after: Address | undefined, limit: number): Promise<Address[]> {
    const found: Address[] = []
    let from = after === undefined ? undefined : digestOf(after)
    while (found.length < limit) {
      const page = await this.records(kind, from, limit)
      if (page.length === 0) break
      for (const { id, entry } of page) {
        if (!entry.isTombstone && found.length < limit) found.push(addressFromDigest(id))
        from = id
      }
    }
    return found
  }

  /** Puts records in line. */
  submit(drafts: readonly Draft[], options: SubmitOptions = {}): Submission {
    return this.journal.submit(drafts, options)
  }

  /** A record that says that the id is gone, dated for the time tombstones are kept; with a version also on whose word. */
  tombstone(kind: number, id: Uint8Array, version = 0, record: Uint8Array = NONE): Draft {
    const payload = new Uint8Array(version === 0 ? 8 : 16 + record.length)
    setInteger(viewOf(payload), 0, this.machine.clock.wall())
    if (version !== 0) {
      setInteger(viewOf(payload), 8, version)
      payload.set(record, 16)
    }
    return { kind, flags: TOMBSTONE, id, payload }
  }

  protected override async release(): Promise<void> {
    this.#stop.abort()
    await this.#open?.journal.finish()
    await Promise.allSettled([this.#catchingUp])
    await this.#open?.keeper.close()
    await this.#open?.journal.close()
  }

  async #load(keeper: IndexKeeper): Promise<void> {
    await keeper.load(this.#stop.signal)
    if (this.index.isComplete) await this.#forgetOldIndex()
  }

  /** Version 0.1 kept an index in files of its own; the journal has all that was in it. */
  async #forgetOldIndex(): Promise<void> {
    const { disk, log } = this.machine
    for (const name of ['data.mdb', 'lock.mdb']) {
      const path = `${this.#options.path}/index/${name}`
      try {
        await disk.unlink(path)
        log.info({ path }, 'an index of an older version is not needed any more and was removed')
      } catch (error) {
        // Whatever keeps it there, it is not used.
        if (!isKind(error, 'NotFound')) log.warn({ path, error }, 'an index of an older version could not be removed')
      }
    }
  }

  #stuck(error: unknown): void {
    if (!this.#stop.signal.aborted) this.machine.log.error({ error }, 'the index cannot be brought up to date')
  }

  #sink(records: readonly PlacedRecord[]): void {
    this.keeper.note(records)
  }
}

function heldBy({ kind, payload }: Draft): Uint8Array | undefined {
  if (kind !== KIND.hold) return undefined
  try {
    return decodeHold(payload).object
  } catch {
    // A query for the holds of an object reports that some hold cannot be read.
    return undefined
  }
}

/**
 * A drive that fails to read fails this request, and is no defect of ours. Nor is what was asked for gone because the
 * segments it lay in went again and again while it was looked for.
 */
function asRefusal(error: unknown): CairnError {
  const cause = toCairnError(error)
  if (cause.kind !== 'Internal' && cause.kind !== 'NotFound') return cause
  const detail = 'The drive could not be read; try again.'
  return new CairnError('StorageBusy', detail, { code: 'read_failed', retryAfterMs: 1_000, cause })
}

function damagedRecord(): CairnError {
  return new CairnError('Integrity', 'A record of the journal is damaged.', { code: 'record_damaged' })
}

function stillReading(): CairnError {
  const detail = 'The index is being rebuilt from the journal; ask again in a moment.'
  return new CairnError('StorageBusy', detail, { code: 'rebuilding', retryAfterMs: 1_000 })
}
