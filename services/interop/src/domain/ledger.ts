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
import { type CairnError, Closeable, isKind, Semaphore, sleep, Watch, type Watching } from '@cairn/kernel'
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
import { type Address, fromBase64url, spellCount } from '@cairn/wire'
import { noFacts } from '../audit.ts'
import { journalLost, nothingLost } from '../errors.ts'
import { KeyRuns } from '../replay/key-runs.ts'
import { joinSpaces, type ReplaySpace, type SpaceMember, spaceNames } from '../replay/spaces-core.ts'
import { AuditChain, seqOf } from './audit-chain.ts'
import { type ChainPoint, decodeRecord, encodeRecord, type InteropRecord, type ReplayKey } from './record.ts'
import { ReplayKeys, replayHash } from './replay-keys.ts'

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
const MESSAGE_SHARE = 16 * 1024

export class InteropLedger extends Closeable {
  readonly keys: ReplayKeys
  readonly chain = new AuditChain()
  readonly mailbox: Mailbox
  readonly #platform: Platform
  readonly #carryMessages: number
  /** One change of the runs at a time. */
  readonly #runsTurn = new Semaphore(1)
  #runs: KeyRuns | undefined
  /** What the newest record says of them. */
  #listed: { readonly names: readonly string[]; readonly through: number } = { names: [], through: 0 }
  /** Runs that are not there or not what was written. */
  #damagedRuns: readonly string[] = []
  #spaces: readonly ReplaySpace[] = []
  #areSpacesDue = false
  readonly #lost = new Watch<LostRecords | undefined>(undefined)
  #journal: RollingJournal | undefined

  private constructor(platform: Platform, options: LedgerOptions) {
    super(platform, `ledger ${options.directory}`)
    this.#platform = platform
    const { maxKeys, segmentBytes = Number.POSITIVE_INFINITY } = options
    this.keys = new ReplayKeys(maxKeys)
    this.#carryMessages = Math.max(1, Math.min(CARRY_MESSAGES_MAX, Math.floor(segmentBytes / MESSAGE_SHARE)))
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
      await ledger.#openRuns(directory)
      ledger.#judge()
      ledger.mailbox.begin()
      return ledger
    } catch (error) {
      await ledger.close()
      throw error
    }
  }

  /** From now on these providers share the keys of every space that one of their secrets was ever in. */
  async join(members: readonly SpaceMember[]): Promise<void> {
    const joined = joinSpaces(this.#spaces, members)
    this.#areSpacesDue = joined !== this.#spaces
    this.#spaces = joined
    if (this.lost.value !== undefined) return
    try {
      await this.#noteSpaces()
    } catch (error) {
      this.#platform.log.warn(
        { error: String(error) },
        'the replay spaces were not written; the next round tries again',
      )
    }
  }

  /** What this key of a provider is kept under, and may have been kept under. */
  hashesOf(provider: string, key: string): readonly string[] {
    return spaceNames(this.#spaces, provider).map((space) => replayHash(space + key.slice(provider.length)))
  }

  /** Whether a run on the drive has one of these keys. */
  async hasOnDrive(hashes: readonly string[], nowMs: number): Promise<boolean> {
    try {
      return await this.#openedRuns().has(hashes.map(fromBase64url), nowMs)
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
      this.#missRuns(await this.#openedRuns().damaged())
      throw journalLost(error.message)
    }
  }

  /** Keys that are remembered. */
  get keyCount(): number {
    return this.keys.size + this.keysOnDrive
  }

  get keysOnDrive(): number {
    return this.#openedRuns().items
  }

  /** Moves keys from memory into a run where there are many, and makes one run of several. */
  async settleKeys(): Promise<void> {
    await this.#noteSpaces()
    if (this.keys.isRunDue) await this.#writeRun()
    using _turn = await this.#runsTurn.acquire()
    const runs = this.#openedRuns()
    const merged = await runs.merged(this.#platform.clock.wall())
    if (merged === undefined) return
    const { from, to } = merged
    const names = [...runs.names.filter((name) => !from.includes(name)), ...to]
    await this.#note({ tag: 'replay-runs', names, through: this.#listed.through })
    await runs.sweep()
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
    const { through } = this.#listed
    await this.#openedRuns().giveUp(this.#damagedRuns)
    const { names } = this.#openedRuns()
    const records: InteropRecord[] = [
      { tag: 'adopted', point, line },
      { tag: 'replay-runs', names, through },
      { tag: 'replay-spaces', spaces: this.#spaces },
    ]
    await this.#opened().adopt(records.map(encodeRecord))
    this.#damagedRuns = []
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
      before: async (segment) => {
        if (this.keys.isIn(segment)) await this.#writeRun()
        await this.#note({ tag: 'replay-runs', ...this.#listed })
        await this.#note({ tag: 'replay-spaces', spaces: this.#spaces })
        await this.#note({ tag: 'audit-base', point: this.chain.point })
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
    await this.#runs?.close()
  }

  async #openRuns(directory: string): Promise<void> {
    const { names } = this.#listed
    const keepsOthers = this.#opened().loss !== undefined
    const opened = await KeyRuns.open(this.#platform, `${directory}/replay`, { names, keepsOthers })
    this.#runs = opened.runs
    if (opened.damaged.length > 0) this.#missRuns(opened.damaged)
  }

  #missRuns(names: readonly string[]): void {
    this.#damagedRuns = names
    this.#opened().lost(this.chain.point)
    this.#judge()
  }

  /** Everything in memory that is durable goes into a run; once a record says so the run speaks for it. */
  async #writeRun(): Promise<void> {
    using _turn = await this.#runsTurn.acquire()
    const runs = this.#openedRuns()
    const taking = this.keys.taken(this.#platform.clock.wall())
    let taken = taking.next()
    for (; taken.done !== true; taken = taking.next()) await sleep(this.#platform.clock, 0)
    const { items, through } = taken.value
    const names = items.length === 0 ? runs.names : [...runs.names, await runs.write(items)]
    await this.#note({ tag: 'replay-runs', names, through: Math.max(through, this.#listed.through) })
  }

  async #noteSpaces(): Promise<void> {
    if (!this.#areSpacesDue) return
    await this.#note({ tag: 'replay-spaces', spaces: this.#spaces })
    this.#areSpacesDue = false
  }

  /** Says again how things stand; in the step in which it is durable it counts. */
  async #note(record: InteropRecord): Promise<void> {
    await this.#write('audit', record, { freesSpace: true })
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
      ...(this.#damagedRuns.length > 0
        ? [`${spellCount(this.#damagedRuns.length, 'file')} of replay keys cannot be read`]
        : []),
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
        this.keys.add(record.replay, folded)
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
        for (const key of record.keys) this.keys.add(key, folded)
        return
      case 'replay-runs':
        this.#listed = record
        this.#runs?.use(record.names)
        this.keys.forget(record.through)
        return
      case 'replay-spaces':
        this.#spaces = record.spaces
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
    const records: InteropRecord[] = changes.length > 0 ? [{ tag: 'mailbox', changes }] : []
    return { records: records.map(encodeRecord), isWhole }
  }

  #openedRuns(): KeyRuns {
    if (this.#runs === undefined) throw new TypeError('The ledger is not open.')
    return this.#runs
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
