/**
 * The one journal of interop and the three things it is folded into: replay keys, mailbox, audit chain.
 *
 *     accept {replay key, messages, audit line} ─▶ one record ─▶ fdatasync, many at a time ─▶ keys, mailbox, chain
 *                                                                   └─ fails: nothing of it counts, everybody is told
 *
 * Never true here: a webhook is remembered and its messages are not there, or the other way round; an audit line says
 * allowed and the record is gone; an answer before the record is durable.
 */
import { type AuditFacts, auditLineHash, formatLineRanges, type LineRange } from '@cairn/clients'
import { type CairnError, Closeable, Watch, type Watching } from '@cairn/kernel'
import {
  type ChangeLog,
  type FoldedRecord,
  isShortOf,
  type LiveRecords,
  type Loss,
  Mailbox,
  type MailboxChange,
  RollingJournal,
} from '@cairn/mailbox'
import type { Platform } from '@cairn/platform'
import { type Address, spellCount } from '@cairn/wire'
import { noFacts } from '../audit.ts'
import { nothingLost } from '../errors.ts'
import { AuditChain, seqOf } from './audit-chain.ts'
import { type ChainPoint, decodeRecord, encodeRecord, type InteropRecord, type ReplayKey } from './record.ts'
import { ReplayKeys } from './replay-keys.ts'

export interface LedgerOptions {
  readonly directory: string
  readonly ioTimeoutMs: number
  readonly visibilityMs: number
  readonly maxDeliveries: number
  readonly maxMessages: number
  readonly maxKeys: number
  readonly segmentBytes?: number | undefined
}

/** A webhook that is let in. */
export interface Acceptance {
  readonly replay: ReplayKey
  readonly changes: readonly MailboxChange[]
  readonly audit: AuditFacts
}

/** Something that was in the journal is not there. */
export interface LostRecords {
  /** What, in a sentence. */
  readonly detail: string
  /** Lines of the audit that are here, and how many there are known to have been. */
  readonly lines: number
  readonly known: ChainPoint
}

/** What an operator gave up, and where the audit goes on. */
export interface Adoption {
  readonly lost: string
  /** The number of the line that says so. */
  readonly line: number
}

/** What is written again at once when an old segment goes: at most this, and less where segments are small. */
const CARRY_MESSAGES_MAX = 256
const CARRY_KEYS_MAX = 4096
const MESSAGE_SHARE = 16 * 1024
const KEY_SHARE = 512

export class InteropLedger extends Closeable {
  readonly keys: ReplayKeys
  readonly chain = new AuditChain()
  readonly mailbox: Mailbox
  readonly #platform: Platform
  readonly #carryMessages: number
  readonly #carryKeys: number
  readonly #lost = new Watch<LostRecords | undefined>(undefined)
  #journal: RollingJournal | undefined

  private constructor(platform: Platform, options: LedgerOptions) {
    super(platform, `ledger ${options.directory}`)
    this.#platform = platform
    const { maxKeys, segmentBytes = Number.POSITIVE_INFINITY } = options
    this.keys = new ReplayKeys(maxKeys)
    this.#carryMessages = Math.max(1, Math.min(CARRY_MESSAGES_MAX, Math.floor(segmentBytes / MESSAGE_SHARE)))
    this.#carryKeys = Math.max(1, Math.min(CARRY_KEYS_MAX, Math.floor(segmentBytes / KEY_SHARE)))
    const log: ChangeLog = {
      submit: async (changes, { freesSpace = false } = {}) => {
        await this.#write('mailbox', { tag: 'mailbox', changes }, { freesSpace })
      },
    }
    this.mailbox = new Mailbox(platform, log, options)
  }

  static async open(platform: Platform, options: LedgerOptions): Promise<InteropLedger> {
    const { directory, ioTimeoutMs, segmentBytes } = options
    const ledger = new InteropLedger(platform, options)
    try {
      const fold = (record: FoldedRecord): void => ledger.#fold(record)
      const [path, witness] = [`${directory}/journal`, `${directory}/witness`]
      const tally = (): ChainPoint => ledger.chain.point
      const places = { path, witness, ioTimeoutMs, segmentBytes }
      ledger.#journal = await RollingJournal.open(platform, { ...places, fold, tally })
      ledger.#judge()
      ledger.mailbox.begin()
      return ledger
    } catch (error) {
      await ledger.close()
      throw error
    }
  }

  /** Durable once this resolves: the key, the messages, and the line of the audit. */
  async accept({ replay, changes, audit }: Acceptance): Promise<void> {
    const { lines, end } = this.chain.draft([audit])
    const [line = ''] = lines
    await this.#write('accepted', { tag: 'accepted', replay, changes, line }, { end })
  }

  /** Lines of the audit alone; durable once this resolves. */
  async note(facts: readonly AuditFacts[]): Promise<readonly string[]> {
    const { lines, end } = this.chain.draft(facts)
    await this.#write('audit', { tag: 'audit', lines }, { end })
    return lines
  }

  /** The registry holds this head, at this place of its log. */
  async anchor(point: ChainPoint, logIndex: number): Promise<void> {
    await this.#write('audit', { tag: 'anchor', point, logIndex }, {})
    this.#opened().witnessSoon()
  }

  /** What was here and is not; nothing while all is. Until it is adopted everything can be read and nothing written. */
  get lost(): Watching<LostRecords | undefined> {
    return this.#lost
  }

  /** Somebody else vouches for this point: fewer lines than that, or another one there, and something was lost. */
  async compare(known: ChainPoint): Promise<void> {
    if (known.count <= Math.max(this.chain.adopted, this.#lost.value?.known.count ?? 0)) return
    if (!isShortOf(this.chain.point, known) && !(await this.#isOtherAt(known))) return
    this.#opened().lost(known)
    this.#judge()
  }

  /** Gives up what is lost, with a line that says so, and lets writes in again. */
  async adopt(corrId: string): Promise<Adoption> {
    const lost = this.#lost.value
    if (lost === undefined || this.chain.isBusy) throw nothingLost()
    const point = lost.known.count > this.chain.count ? lost.known : this.chain.point
    const facts: AuditFacts = {
      ...noFacts(this.#platform.clock),
      decision: 'allow',
      action: 'adopt',
      reason: 'journal_lost',
      event: lost.detail,
      delivery: formatLineRanges(this.#missingUpTo(point)),
      corr_id: corrId,
    }
    const [line = ''] = this.chain.draft([facts], point).lines
    await this.#opened().adopt([encodeRecord({ tag: 'adopted', point, line })])
    this.#judge()
    return { lost: lost.detail, line: this.chain.count }
  }

  /** Lines from this one on, at most `limit`, as they were written. */
  async lines(from: number, limit: number): Promise<string[]> {
    const place = this.chain.placeOf(from)
    const found: string[] = []
    if (place === undefined || limit === 0 || from > this.chain.count) return found
    for await (const folded of this.#opened().read(place)) {
      const record = decodeRecord(folded)
      for (const line of linesOf(record)) {
        if (seqOf(line) >= from) found.push(line)
        if (found.length === limit) return found
      }
    }
    return found
  }

  /** Lets go of old segments while the journal is larger than this; returns how many went. */
  async trim(keepBytes: number): Promise<number> {
    return await this.#opened().trim(keepBytes, {
      living: (segment) => this.#living(segment),
      // How the chain stands, and what vouches for it, must be known even if no line is left.
      before: async () => {
        await this.#write('audit', { tag: 'audit-base', point: this.chain.point }, { freesSpace: true })
        const { anchored, anchorIndex } = this.chain
        if (anchorIndex !== undefined) await this.anchor(anchored, anchorIndex)
      },
      after: (segment) => this.chain.forget(segment),
    })
  }

  /** Why nothing can be written now; nothing if everything can. */
  get problem(): string | undefined {
    const { unready, isStalled } = this.#opened()
    if (unready !== undefined) return unready.message
    return isStalled ? 'The drive does not answer in time.' : undefined
  }

  get bytes(): number {
    return this.#opened().bytes
  }

  protected override async release(): Promise<void> {
    await this.mailbox.close()
    await this.#journal?.close()
  }

  /** Lines that cannot be read between others, and those between the last that is here and this point. */
  #missingUpTo({ count }: ChainPoint): readonly LineRange[] {
    const { gaps, count: here } = this.chain
    return count > here ? [...gaps, { first: here + 1, last: count }] : gaps
  }

  #judge(): void {
    const loss = this.#opened().loss
    this.#lost.set(loss === undefined ? undefined : this.#lostBy(loss))
  }

  #lostBy({ records, stretches, known }: Loss): LostRecords {
    const { count: lines } = this.chain
    const point: ChainPoint = { count: known.count, head: known.head as Address }
    const parts = [
      ...(lines < known.count ? [`${lines} of ${known.count} audit lines are there`] : []),
      ...(lines === known.count && this.chain.head !== known.head ? ['its last audit line is another one'] : []),
      ...(lines > known.count && records + stretches.length === 0
        ? [`audit line ${known.count} is not the one that was anchored`]
        : []),
      ...(records > 0 ? [`up to ${spellCount(records, 'record')} at its end are missing`] : []),
      ...(stretches.length > 0 ? [`${spellCount(stretches.length, 'place')} in it cannot be read`] : []),
    ]
    return { detail: `The journal is not what it was: ${parts.join(', ')}.`, lines, known: point }
  }

  /** Whether the line of this number is here and has another hash. */
  async #isOtherAt({ count, head }: ChainPoint): Promise<boolean> {
    if (count === 0 || count < this.chain.first || count > this.chain.count) return false
    const [line] = await this.lines(count, 1)
    if (line === undefined || seqOf(line) !== count) return false
    return auditLineHash(new TextEncoder().encode(line)) !== head
  }

  async #write(
    op: 'accepted' | 'audit' | 'mailbox',
    record: InteropRecord,
    { end, freesSpace = false }: { readonly end?: ChainPoint; readonly freesSpace?: boolean },
  ): Promise<void> {
    const onSettled = (error: CairnError | undefined): void => {
      if (error === undefined) return
      if (end !== undefined) this.chain.failed()
      this.#platform.metrics.count('storage_backoff_total', { op })
    }
    const submission = this.#opened().submit([encodeRecord(record)], { freesSpace, onSettled })
    // In line: the next line follows this one, unless all of them fail together.
    if (end !== undefined) this.chain.advance(end)
    await submission.durable()
  }

  #fold(folded: FoldedRecord): void {
    const record = decodeRecord(folded)
    const { lsn, segment, offset } = folded
    switch (record.tag) {
      case 'accepted':
        this.keys.add(record.replay, segment)
        this.#applyAll(record.changes, lsn, segment)
        this.chain.fold([record.line], segment, offset)
        return
      case 'audit':
        this.chain.fold(record.lines, segment, offset)
        return
      case 'mailbox':
        this.#applyAll(record.changes, lsn, segment)
        return
      case 'replay-keys':
        for (const key of record.keys) this.keys.add(key, segment)
        return
      case 'audit-base':
        this.chain.foldBase(record.point)
        return
      case 'anchor':
        this.chain.foldAnchor(record.point, record.logIndex)
        return
      case 'adopted':
        this.chain.foldAdoption(record.point, record.line, segment, offset)
    }
  }

  /** Several in one record follow one another. */
  #applyAll(changes: readonly MailboxChange[], lsn: number, segment: number): void {
    changes.forEach((change, index) => {
      this.mailbox.apply(change, lsn + index / changes.length, segment)
    })
  }

  #living(segment: number): LiveRecords {
    const { changes, isWhole } = this.mailbox.livingIn(segment, this.#carryMessages)
    const keys = this.keys.livingIn(segment, this.#carryKeys, this.#platform.clock.wall())
    const records: InteropRecord[] = []
    if (changes.length > 0) records.push({ tag: 'mailbox', changes })
    if (keys.length > 0) records.push({ tag: 'replay-keys', keys })
    return { records: records.map(encodeRecord), isWhole: isWhole && keys.length < this.#carryKeys }
  }

  #opened(): RollingJournal {
    if (this.#journal === undefined) throw new TypeError('The ledger is not open.')
    return this.#journal
  }
}

function linesOf(record: InteropRecord): readonly string[] {
  if (record.tag === 'audit') return record.lines
  return record.tag === 'accepted' || record.tag === 'adopted' ? [record.line] : []
}
