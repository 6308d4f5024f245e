/**
 * The one writer of the log and of HEAD.
 *
 *     commands ─▶ decide ─▶ entries ─▶ fdatasync ─▶ sign ─▶ checkpoint ─▶ fdatasync ─▶ publish ─▶ acknowledge ─▶ broadcast
 *                   │          └─ fails: nothing of it counts, everybody is told
 *                   │                                         └─ fails: tried again until it holds. The entries are in
 *                   └─ against a draft of the ledger             the log for good; nobody hears of them before it does.
 *                                                                Without entries it is refused: the one before it stands
 *
 * Never true here: two roots signed for one size; an answer or a read that shows what could still be lost; a proposal
 * committed twice. An abort ends waits; it never comes between entries and their publication.
 */
import { type Broadcast, type CairnError, sleep, type TaskBody, toCairnError, type Watch } from '@cairn/kernel'
import { encodeLeaf, proposalId } from '@cairn/names'
import type { Platform } from '@cairn/platform'
import type { Draft, PlacedRecord, RecordPlace } from '@cairn/store'
import { type Hash, leafHash, type NoteSignature } from '@cairn/tlog'
import type { RegistryAudit } from '../audit.ts'
import type { Command } from '../domain/commands.ts'
import type { CrashPointHook } from '../domain/crash-points.ts'
import type { Custody } from '../domain/custody.ts'
import { type CommandDecision, decide } from '../domain/decide-core.ts'
import type { Ledger, LedgerDraft, VersionSummary } from '../domain/ledger.ts'
import type { CheckpointSigner } from '../domain/log-keys.ts'
import { type Published, publish } from '../domain/published.ts'
import { KIND, leafDraft, partDraft } from '../domain/record.ts'
import type { LogWriter, RegistryLog } from '../domain/registry-log.ts'
import { checkpointMoved, onlyReads } from '../errors.ts'
import type { CommandIntake, CommandJob } from '../intake.ts'

/** A version that was committed, as its consumers hear of it. */
export interface Committed extends VersionSummary {
  readonly corr_id: string
}

export interface CommitterParts {
  readonly intake: CommandIntake
  readonly log: RegistryLog
  readonly writer: LogWriter
  readonly ledger: Ledger
  readonly signer: CheckpointSigner
  readonly published: Watch<Published>
  readonly committed: Broadcast<Committed>
  readonly audit: RegistryAudit
  readonly custody: Pick<Custody, 'problem'>
  readonly reach: CrashPointHook
}

/** How long an expired proposal is remembered, so that whoever asks hears that it has expired. */
export const EXPIRED_KEPT_MS = 60 * 60 * 1000
/** Between two attempts to make a checkpoint durable: it doubles from the first to the second. */
const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 2_000
const ID_BYTES = 16

interface Decided {
  readonly job: CommandJob
  readonly outcome: CommandDecision
}

/** A batch whose entries, if it has any, are in the log, durably. */
interface AppendedBatch {
  readonly hasEntries: boolean
  readonly draft: LedgerDraft
  readonly decided: readonly Decided[]
  readonly artifacts: readonly RecordPlace[]
  /** More signatures under the text that is published; without them the log signs anew. */
  readonly lines?: readonly NoteSignature[]
}

interface CommitBatch {
  readonly draft: LedgerDraft
  readonly decided: Decided[]
  readonly drafts: Draft[]
  readonly leaves: Hash[]
  /** Lines of witnesses, for the checkpoint as it was before the batch. */
  readonly lines: NoteSignature[]
  wantsCheckpoint: boolean
}

export class Committer {
  readonly #platform: Platform
  readonly #parts: CommitterParts
  /** Set from the moment entries are durable until they are published. */
  #appended: AppendedBatch | undefined

  constructor(platform: Platform, parts: CommitterParts) {
    this.#platform = platform
    this.#parts = parts
  }

  readonly run: TaskBody = async ({ aborting, busyWhen }) => {
    let isWaiting = false
    busyWhen?.(() => !isWaiting)
    // Only after a failure of ours in the middle of a batch is there anything to finish.
    const appended = this.#appended
    if (appended !== undefined)
      await answeredOnAbort(appended.decided, aborting, async () => await this.#finish(appended, aborting))
    for (;;) {
      isWaiting = true
      const jobs = await this.#parts.intake.next({ signal: aborting })
      isWaiting = false
      if (jobs === undefined) return
      await this.#serve(jobs, aborting)
    }
  }

  async #serve(jobs: readonly CommandJob[], aborting: AbortSignal): Promise<void> {
    const problem = this.#parts.custody.problem
    if (problem !== undefined) {
      for (const job of jobs) job.fail(onlyReads(problem))
      return
    }
    const batch = this.#decide(jobs)
    await answeredOnAbort(batch.decided, aborting, async () => await this.#complete(batch, aborting))
  }

  async #complete(batch: CommitBatch, aborting: AbortSignal): Promise<void> {
    const { draft, decided, drafts, leaves, lines, wantsCheckpoint } = batch
    if (drafts.length > 0) {
      const records = await this.#append(drafts, leaves, decided)
      if (records === undefined) return
      this.#appended = { hasEntries: true, draft, decided, artifacts: artifactsIn(records) }
    } else if (wantsCheckpoint || lines.length > 0) {
      this.#appended = { hasEntries: false, draft, decided, artifacts: [], lines }
    }
    if (this.#appended === undefined) this.#acknowledge(decided)
    else await this.#finish(this.#appended, aborting)
  }

  /** Decides the whole batch in one step, each command against what the ones before it leave. */
  #decide(jobs: readonly CommandJob[]): CommitBatch {
    const { ledger, writer, signer } = this.#parts
    const batch: CommitBatch = {
      draft: ledger.draft(),
      decided: [],
      drafts: [],
      leaves: [],
      lines: [],
      wantsCheckpoint: false,
    }
    const now = Math.floor(this.#platform.clock.wall())
    for (const job of jobs) {
      // Its caller left, or its time is over: work that nobody can use is not begun.
      if (job.ended) continue
      const index = writer.size + batch.leaves.length
      if (job.input.tag === 'checkpoint') {
        batch.wantsCheckpoint = true
        batch.decided.push({ job, outcome: { tag: 'known', answer: { size: index } } })
        continue
      }
      // Judged last: whether the checkpoint stays is known only then.
      if (job.input.tag === 'cosign') continue
      const newId = proposalId(this.#platform.random.bytes(ID_BYTES))
      try {
        const outcome = decide(batch.draft, job.input, { log: signer.identity, index, now, newId })
        if (outcome.tag === 'entry') addEntry(batch, index, outcome)
        batch.decided.push({ job, outcome })
      } catch (error) {
        job.fail(toCairnError(error))
      }
    }
    for (const job of jobs) {
      if (job.input.tag !== 'cosign' || job.ended) continue
      batch.decided.push({ job, outcome: this.#cosign(batch, job.input) })
    }
    return batch
  }

  /** Only while nothing of the batch makes another checkpoint of it. */
  #cosign(
    { leaves, lines }: CommitBatch,
    { size, lines: added }: Extract<Command, { tag: 'cosign' }>,
  ): CommandDecision {
    const published = this.#parts.published.value
    if (size !== published.size || leaves.length > 0) return { tag: 'refused', error: checkpointMoved(published.size) }
    lines.push(...added)
    return { tag: 'known', answer: { size } }
  }

  async #append(
    drafts: readonly Draft[],
    leaves: readonly Hash[],
    decided: readonly Decided[],
  ): Promise<readonly PlacedRecord[] | undefined> {
    try {
      return await this.#parts.writer.append(drafts, leaves)
    } catch (error) {
      this.#platform.metrics.count('storage_backoff_total', { op: 'entries' })
      this.#platform.log.warn({ error, entries: leaves.length }, 'a batch was not written; nothing of it counts')
      for (const { job } of decided) job.fail(toCairnError(error))
      return undefined
    }
  }

  /** Signs, makes the signature durable, and lets everybody see what was appended. */
  async #finish(appended: AppendedBatch, aborting: AbortSignal): Promise<void> {
    const { writer, reach } = this.#parts
    await reach('entries-synced')
    const [size, root] = [writer.size, writer.root()]
    const { note, timedAt } = this.#sign(size, root, appended.lines)
    await reach('signed')
    for (let pauseMs = RETRY_MS_MIN; ; pauseMs = Math.min(RETRY_MS_MAX, 2 * pauseMs)) {
      try {
        await writer.checkpoint(partDraft('checkpoint', size, root, note))
        break
      } catch (error) {
        this.#platform.metrics.count('storage_backoff_total', { op: 'checkpoint' })
        this.#platform.log.warn({ error }, 'the checkpoint is not durable yet')
        if (!appended.hasEntries) {
          this.#appended = undefined
          this.#refuse(appended.decided, toCairnError(error))
          return
        }
        await sleep(this.#platform.clock, pauseMs, { signal: aborting })
      }
    }
    await reach('checkpoint-synced')
    this.#appended = undefined
    this.#publish(appended, { size, note, timedAt })
    await reach('published')
    this.#acknowledge(appended.decided)
    await reach('acknowledged')
    this.#broadcast(appended.decided)
  }

  /** The note of so many entries. Those of witnesses stay under it as long as its text does. */
  #sign(size: number, root: Hash, lines: readonly NoteSignature[] = []): Pick<Published, 'note' | 'timedAt'> {
    const { signer, published } = this.#parts
    const before = published.value
    const timedAt = this.#platform.clock.wall()
    if (size !== before.size) return { note: signer.sign(size, root, timedAt), timedAt }
    const known = signer.withWitnesses(before.note, lines)
    if (lines.length > 0) return { note: known, timedAt: before.timedAt }
    return { note: signer.withWitnesses(signer.sign(size, root, timedAt), signer.witnessLines(known)), timedAt }
  }

  /** One step: the ledger takes the batch over, and every read from now on shows it. */
  #publish({ draft, artifacts }: AppendedBatch, checkpoint: Pick<Published, 'size' | 'note' | 'timedAt'>): void {
    const { ledger, log, published, signer } = this.#parts
    ledger.absorb(draft, artifacts)
    ledger.expire(checkpoint.timedAt - EXPIRED_KEPT_MS)
    const head = ledger.versions.facts(ledger.head.version)
    const { minimumIndex } = log
    published.set(publish(signer.identity.origin, { ...checkpoint, head, state: ledger.state, minimumIndex }))
    this.#platform.metrics.count('registry_batches_total')
  }

  #acknowledge(decided: readonly Decided[]): void {
    for (const { job, outcome } of decided) {
      this.#parts.audit.note(job.input, outcome)
      if (outcome.tag === 'refused') job.fail(outcome.error)
      else job.done(outcome.answer)
    }
  }

  /** Of a batch without entries only what asked for the checkpoint fails. */
  #refuse(decided: readonly Decided[], error: CairnError): void {
    const isOfCheckpoint = ({ job }: Decided): boolean => ['checkpoint', 'cosign'].includes(job.input.tag)
    for (const { job } of decided.filter(isOfCheckpoint)) job.fail(error)
    this.#acknowledge(decided.filter((each) => !isOfCheckpoint(each)))
  }

  #broadcast(decided: readonly Decided[]): void {
    const { ledger, committed } = this.#parts
    for (const { job, outcome } of decided) {
      if (job.input.tag !== 'commit' || outcome.tag !== 'entry') continue
      const facts = ledger.committed(job.input.proposalId)
      if (facts !== undefined) committed.publish({ ...facts, corr_id: job.input.corrId })
    }
  }
}

/** An abort answers everybody at once: the drive may never answer, and whoever asks again hears what became of it. */
async function answeredOnAbort(
  decided: readonly Decided[],
  aborting: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const release = (): void => {
    for (const { job } of decided) job.cancel()
  }
  if (aborting.aborted) release()
  aborting.addEventListener('abort', release, { once: true })
  try {
    await work()
  } finally {
    aborting.removeEventListener('abort', release)
  }
}

function addEntry(
  { drafts, leaves }: CommitBatch,
  index: number,
  { leaf, part }: Extract<CommandDecision, { tag: 'entry' }>,
): void {
  const entry = encodeLeaf(leaf)
  const hash = leafHash(entry)
  if (part !== undefined) drafts.push(partDraft(part.kind, part.number, part.hash, part.bytes))
  drafts.push(leafDraft(leaf.type, index, hash, entry))
  leaves.push(hash)
}

function artifactsIn(records: readonly PlacedRecord[]): RecordPlace[] {
  return records.filter(({ kind }) => kind === KIND.artifact).map(({ place }) => place)
}
