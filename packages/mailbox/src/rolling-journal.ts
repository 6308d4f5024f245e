/**
 * A journal whose records are folded into a state, and which stays as small as it may: the oldest segment goes once
 * whatever still counts in it has been written again.
 *
 *     │ 7: a b c d │ 8: e f g │ 9: h i …                 b and f still count
 *     │ 8: e f g │ 9: h i … b'                           7 went after b' was durable
 *
 * Segments go oldest first, so a record that ends something is never gone before what it ends.
 */
import { CairnError, Closeable, Semaphore, toCairnError } from '@cairn/kernel'
import {
  Journal,
  type JournalMachine,
  type PlacedRecord,
  type Position,
  type Submission,
  type SubmitOptions,
  type Watermark,
} from '@cairn/store'
import { spellCount } from '@cairn/wire'
import { type BadStretch, type JournalTotals, readWitness, type Witnessed, writeWitness } from './witness-file.ts'

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
  /** Where its second witness is kept: a file outside of `path`. */
  readonly witness: string
  /** Hears every record once it is durable, in order: those of earlier lives first. */
  readonly fold: (record: FoldedRecord) => void
  /** What the fold has come to, for the witness. */
  readonly tally: () => JournalTotals
  readonly segmentBytes?: number | undefined
  readonly ioTimeoutMs?: number | undefined
}

/** What a journal is known to have held and does not hold. Until it is adopted it is only read. */
export interface Loss {
  /** Records that were durable and are not here, at most; none where it is only damaged. */
  readonly records: number
  /** What cannot be read. */
  readonly stretches: readonly BadStretch[]
  /** What its fold had come to, as the witness says. */
  readonly known: JournalTotals
}

/** What still counts in a segment, as much of it as fits one write. */
export interface LiveRecords {
  readonly records: readonly RollingRecord[]
  /** There is no more of it. */
  readonly isWhole: boolean
}

export interface TrimRules {
  /** What still counts in this segment and those before it. Nothing, and not whole: something is just changing. */
  readonly living: (segment: number) => LiveRecords
  /** Runs before a segment is looked at, and after it is gone. */
  readonly before?: (segment: number) => Promise<void>
  readonly after?: (segment: number) => void
}

const SEGMENT_BYTES = 16 * 1024 * 1024
/** Records are told apart by their place; none is looked up by its id. */
const NO_ID = new Uint8Array(32)

export class RollingJournal extends Closeable {
  readonly #machine: JournalMachine
  readonly #options: RollingOptions
  readonly #journal: Journal
  /** One write of the witness at a time, each of what is so when its turn comes. */
  readonly #witnessTurn = new Semaphore(1)
  #isWitnessDue = false
  /** All of it was folded: what the tally says is so. */
  #isOpen = false
  /** Up to here everything was synced. */
  #durable: Watermark | undefined
  #givenUp: readonly BadStretch[]
  #loss: Loss | undefined
  /** What lives takes more than may be kept: nothing goes before the journal is larger than this. */
  #trimAbove = 0

  private constructor(
    machine: JournalMachine,
    options: RollingOptions,
    journal: Journal,
    witnessed: Witnessed | undefined,
  ) {
    super(machine, `rolling journal ${options.path}`)
    this.#machine = machine
    this.#options = options
    this.#journal = journal
    this.#givenUp = witnessed?.givenUp ?? []
  }

  /**
   * Opens or makes the journal and folds what is in it. One that holds less than its witness says, or that cannot be read
   * in part, is opened with a `loss` and takes nothing before `adopt`.
   */
  static async open(machine: JournalMachine, options: RollingOptions): Promise<RollingJournal> {
    const { path, fold, segmentBytes = SEGMENT_BYTES, ioTimeoutMs } = options
    const witness = await readWitness(machine.disk, options.witness)
    if (witness.tag === 'damaged')
      machine.log.warn(
        { path: options.witness },
        'the witness of the journal is damaged; the journal is taken as it is',
      )
    const witnessed = witness.tag === 'read' ? witness.value : undefined
    const journal = await Journal.open(machine, {
      path,
      segmentBytes,
      // What was durable then is never cut: a bad record below it is damage, and no torn end.
      watermark: witnessed?.durable,
      sink: (records, end) => {
        for (const record of records) fold(foldedFrom(record))
        rolling.#passed(records, end)
      },
      ...(ioTimeoutMs === undefined ? {} : { ioTimeoutMs }),
    })
    const rolling = new RollingJournal(machine, options, journal, witnessed)
    try {
      await rolling.#replay(witnessed)
      // Before the first append: from now on the end of the journal may be an unsynced one.
      if (rolling.#loss === undefined) await rolling.#witness({ isStopped: false })
      rolling.#isOpen = true
      return rolling
    } catch (error) {
      await rolling.close()
      throw error
    }
  }

  /** Puts records in line, to be durable together and in this order. Throws if they cannot even wait. */
  submit(records: readonly RollingRecord[], options: SubmitOptions = {}): Submission {
    if (this.#loss !== undefined) throw journalLost(this.#options.path, this.#loss)
    return this.#submit(records, options)
  }

  /** What is known to have been here and is not; nothing if all of it is. */
  get loss(): Loss | undefined {
    return this.#loss
  }

  /** Something else than the witness knows that the journal held more. */
  lost(known: JournalTotals): void {
    const { records = 0, stretches = [] } = this.#loss ?? {}
    this.#loss = { records, stretches, known }
  }

  /**
   * Gives up what is lost: these records, which say so, are durable, and the journal goes on with them. A crash on the way
   * leaves one that has gone on, or one to adopt again.
   */
  async adopt(records: readonly RollingRecord[]): Promise<void> {
    await this.#submit(records, {}).durable()
    const stretches = this.#loss?.stretches ?? []
    const { unreadable } = this.#journal
    const isHere = ({ segment }: BadStretch): boolean => this.#journal.holds(segment) || unreadable.includes(segment)
    this.#givenUp = [...this.#givenUp.filter(isHere), ...stretches]
    using _turn = await this.#witnessTurn.acquire()
    await this.#writeWitness(false)
    this.#loss = undefined
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
   * Removes the oldest segments while the journal is larger than `keepBytes`; returns how many it removed. Where live
   * records alone take more than that, it waits until the journal has doubled: else it would copy the same for ever.
   */
  async trim(keepBytes: number, rules: TrimRules): Promise<number> {
    if (this.bytes <= Math.max(keepBytes, this.#trimAbove)) return 0
    const last = this.#journal.activeNumber ?? 0
    let gone = 0
    for (const segment of this.#numbers()) {
      if (segment >= last || this.bytes <= keepBytes) break
      await rules.before?.(segment)
      if (!(await this.#reclaimSegment(segment, rules.living))) return gone
      rules.after?.(segment)
      gone += 1
    }
    this.#trimAbove = this.bytes > keepBytes ? 2 * this.bytes : 0
    return gone
  }

  /** What `living` returns is in line before anything else can happen; it is asked again until there is no more. */
  async #reclaimSegment(segment: number, living: TrimRules['living']): Promise<boolean> {
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
      if (event.tag === 'record') yield foldedFrom(event)
      else if (!this.#isKnown(event.segment, event.gap.from)) throw damaged(`segment ${event.segment}`)
    }
  }

  /** Writes the witness of what is durable by now, in the background; for an owner with a tally that others rely on. */
  witnessSoon(): void {
    if (this.#isWitnessDue || this.#loss !== undefined) return
    this.#isWitnessDue = true
    this.#witness({ isStopped: false }).catch((error: unknown) => {
      this.#machine.log.warn({ error: toCairnError(error).message }, 'the witness of the journal was not written')
    })
  }

  protected override async release(): Promise<void> {
    await this.#journal.finish()
    // After a write that failed the end of the journal is what the next start finds, not what this life believes.
    const isStopped = this.#journal.unready === undefined && this.#journal.failures === 0
    if (this.#isOpen && this.#loss === undefined) await this.#witness({ isStopped })
    await this.#journal.close()
  }

  #submit(records: readonly RollingRecord[], options: SubmitOptions): Submission {
    const drafts = records.map(({ kind, payload }) => ({ kind, payload, flags: 0, id: NO_ID }))
    return this.#journal.submit(drafts, options)
  }

  #passed(records: readonly PlacedRecord[], end: Position): void {
    const lsn = records.at(-1)?.lsn ?? this.#durable?.lsn ?? 0
    const hasRolled = end.segment !== this.#durable?.segment
    this.#durable = { ...end, lsn }
    if (hasRolled) this.witnessSoon()
  }

  /** Folds what is there and holds it against the witness. */
  async #replay(witnessed: Witnessed | undefined): Promise<void> {
    const stretches: BadStretch[] = []
    const note = (segment: number, from: number): void => {
      if (!this.#isKnown(segment, from)) stretches.push({ segment, from })
    }
    for (const segment of this.#journal.unreadable) note(segment, 0)
    for await (const event of this.#journal.replay()) {
      if (event.tag === 'damage') {
        note(event.segment, event.gap.from)
        continue
      }
      this.#options.fold(foldedFrom(event))
      this.#durable = { ...event.end, lsn: event.lsn }
    }
    const tally = this.#options.tally()
    const records = Math.max(0, (witnessed?.durable?.lsn ?? 0) - (this.#durable?.lsn ?? 0))
    const isOther = witnessed !== undefined && isShortOf(tally, witnessed)
    if (records > 0 || stretches.length > 0 || isOther) this.#loss = { records, stretches, known: witnessed ?? tally }
  }

  #isKnown(segment: number, from: number): boolean {
    const known = [...this.#givenUp, ...(this.#loss?.stretches ?? [])]
    return known.some((stretch) => stretch.segment === segment && (stretch.from === 0 || stretch.from === from))
  }

  /** A drive that refuses it takes nothing from what is durable: the next rotation, or the next life, tries again. */
  async #witness({ isStopped }: { readonly isStopped: boolean }): Promise<void> {
    using _turn = await this.#witnessTurn.acquire()
    this.#isWitnessDue = false
    try {
      await this.#writeWitness(isStopped)
    } catch (error) {
      this.#machine.log.warn({ error: toCairnError(error).message }, 'the witness of the journal was not written')
    }
  }

  async #writeWitness(isStopped: boolean): Promise<void> {
    const { count, head } = this.#options.tally()
    const witnessed = { count, head, durable: this.#durable, isStopped, givenUp: this.#givenUp }
    await writeWitness(this.#machine.disk, this.#options.witness, witnessed)
  }
}

/** Fewer than were witnessed, or as many and others. */
export function isShortOf(here: JournalTotals, known: JournalTotals): boolean {
  return here.count < known.count || (here.count === known.count && here.head !== known.head)
}

function foldedFrom({ kind, payload, lsn, place }: PlacedRecord): FoldedRecord {
  return { kind, payload, lsn, segment: place.segment, offset: place.offset }
}

function journalLost(path: string, { records, stretches }: Loss): CairnError {
  const detail = `The journal ${path} is not all there: ${describeLoss(records, stretches.length)}. It is only read until that is given up.`
  return new CairnError('StorageBusy', detail, { code: 'journal_lost' })
}

/** What of a journal is lost, in words. */
function describeLoss(records: number, stretches: number): string {
  const parts = [
    ...(records > 0 ? [`up to ${spellCount(records, 'record')} at its end are missing`] : []),
    ...(stretches > 0 ? [`${spellCount(stretches, 'place')} in it cannot be read`] : []),
  ]
  return parts.join(', and ') || 'it held more, or something else'
}

/** For an owner who has no way to go on without what is lost. */
export function journalDamaged(path: string, { records, stretches }: Loss): CairnError {
  return damaged(path, describeLoss(records, stretches.length))
}

function damaged(where: string, why = 'a part of it cannot be read'): CairnError {
  const detail = `The journal ${where} is damaged: ${why}. Restore it from a backup.`
  return new CairnError('Integrity', detail, { code: 'journal_damaged' })
}
