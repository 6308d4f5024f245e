/**
 * A journal whose records are folded into a state, and which stays as small as it may: the oldest segment goes once
 * whatever still counts in it has been written again.
 *
 *     │ 7: a b c d │ 8: e f g │ 9: h i …                 b and f still count
 *     │ 8: e f g │ 9: h i … b'                           7 went after b' was durable
 *
 * Segments go oldest first, so a record that ends something is never gone before what it ends.
 */
import { CairnError, Closeable } from '@cairn/kernel'
import { Journal, type JournalMachine, type PlacedRecord, type Submission, type SubmitOptions } from '@cairn/store'

export interface RollingRecord {
  readonly kind: number
  readonly payload: Uint8Array
}

export interface FoldedRecord extends RollingRecord {
  /** Never used twice, and higher than that of every record before. */
  readonly lsn: number
  readonly segment: number
  readonly offset: number
}

export interface RollingOptions {
  readonly path: string
  /** Hears every record once it is durable, in order: those of earlier lives first. */
  readonly fold: (record: FoldedRecord) => void
  readonly segmentBytes?: number | undefined
  readonly ioTimeoutMs?: number | undefined
}

/** What still counts in a segment, as much of it as fits one write. */
export interface Living {
  readonly records: readonly RollingRecord[]
  /** There is no more of it. */
  readonly isWhole: boolean
}

export interface TrimRules {
  /** What still counts in this segment and those before it. Nothing, and not whole: something is just changing. */
  readonly living: (segment: number) => Living
  /** Runs before a segment is looked at, and after it is gone. */
  readonly before?: () => Promise<void>
  readonly after?: (segment: number) => void
}

const SEGMENT_BYTES = 16 * 1024 * 1024
/** Records are told apart by their place; none is looked up by its id. */
const NO_ID = new Uint8Array(32)

export class RollingJournal extends Closeable {
  readonly #journal: Journal
  /** What lives takes more than may be kept: nothing goes before the journal is larger than this. */
  #trimAbove = 0

  private constructor(machine: JournalMachine, journal: Journal, path: string) {
    super(machine, `rolling journal ${path}`)
    this.#journal = journal
  }

  /** Opens or makes the journal and folds all of it. `Integrity` if a part of it cannot be read. */
  static async open(machine: JournalMachine, options: RollingOptions): Promise<RollingJournal> {
    const { path, fold, segmentBytes = SEGMENT_BYTES, ioTimeoutMs } = options
    const journal = await Journal.open(machine, {
      path,
      segmentBytes,
      sink: (records) => {
        for (const record of records) fold(foldedFrom(record))
      },
      ...(ioTimeoutMs === undefined ? {} : { ioTimeoutMs }),
    })
    const rolling = new RollingJournal(machine, journal, path)
    try {
      if (journal.unreadable.length > 0) throw damaged(path)
      for await (const event of journal.replay()) {
        if (event.tag === 'damage') throw damaged(path)
        fold(foldedFrom(event))
      }
      return rolling
    } catch (error) {
      await rolling.close()
      throw error
    }
  }

  /** Puts records in line, to be durable together and in this order. Throws if they cannot even wait. */
  submit(records: readonly RollingRecord[], options: SubmitOptions = {}): Submission {
    const drafts = records.map(({ kind, payload }) => ({ kind, payload, flags: 0, id: NO_ID }))
    return this.#journal.submit(drafts, options)
  }

  /** Why nothing can be written now; nothing if everything can. */
  get unready(): CairnError | undefined {
    return this.#journal.unready
  }

  get isStalled(): boolean {
    return this.#journal.isStalled
  }

  get bytes(): number {
    return this.#journal.segments().reduce((sum, { size }) => sum + size, 0)
  }

  /**
   * Lets go of the oldest segments while the journal is larger than `keepBytes`; returns how many went. Where what lives
   * takes more than that by itself, it waits until the journal has doubled: else it would copy the same for ever.
   */
  async trim(keepBytes: number, rules: TrimRules): Promise<number> {
    if (this.bytes <= Math.max(keepBytes, this.#trimAbove)) return 0
    const last = this.#journal.activeNumber ?? 0
    let gone = 0
    for (const segment of this.#numbers()) {
      if (segment >= last || this.bytes <= keepBytes) break
      await rules.before?.()
      if (!(await this.#letGo(segment, rules.living))) return gone
      rules.after?.(segment)
      gone += 1
    }
    this.#trimAbove = this.bytes > keepBytes ? 2 * this.bytes : 0
    return gone
  }

  /** What `living` returns is in line before anything else can happen; it is asked again until there is no more. */
  async #letGo(segment: number, living: TrimRules['living']): Promise<boolean> {
    for (;;) {
      const { records, isWhole } = living(segment)
      if (records.length > 0) await this.submit(records, { freesSpace: true }).durable()
      else if (isWhole) break
      else return false
    }
    const found = this.#journal.segments().find(({ number }) => number === segment)
    await this.#journal.settleRemovals()
    if (found !== undefined) await this.#journal.removeSegment(found)
    return true
  }

  /** Of segments, the oldest first. */
  #numbers(): number[] {
    return this.#journal
      .segments()
      .map(({ number }) => number)
      .sort((a, b) => a - b)
  }

  /** Records of what is here from this place on. */
  async *read(from: { readonly segment: number; readonly offset: number }): AsyncGenerator<FoldedRecord> {
    for await (const event of this.#journal.replay(from)) {
      if (event.tag === 'damage') throw damaged(`segment ${event.segment}`)
      yield foldedFrom(event)
    }
  }

  protected override async release(): Promise<void> {
    await this.#journal.close()
  }
}

function foldedFrom({ kind, payload, lsn, place }: PlacedRecord): FoldedRecord {
  return { kind, payload, lsn, segment: place.segment, offset: place.offset }
}

function damaged(where: string): CairnError {
  const detail = `The journal ${where} is damaged: what it held cannot be told any more. Restore it from a backup.`
  return new CairnError('Integrity', detail, { code: 'journal_damaged' })
}
