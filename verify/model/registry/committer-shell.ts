/**
 * What the Committer and its intake add to the decisions, step for step, over a drive that remembers.
 *
 *     submit ─▶ approvals ┐                            ┌─ badly ─▶ everybody fails
 *               proposals ┴ bell ─▶ decide (one step) ─▶ append, sync, sign ─▶ checkpoint ─▶ publish ─▶ answer
 *                                                                              └─ badly ─▶ again, the same one
 *
 * The drive is the judge: what counts is what lies on it, whatever the ledger believes.
 */
import type { Command, CommandAnswer } from '../../../services/registry/src/domain/commands.ts'
import type { CommandDecision } from '../../../services/registry/src/domain/decide-core.ts'
import type { LedgerDraft } from '../../../services/registry/src/domain/ledger.ts'
import { type Steps, select, step, type Task } from '../model.ts'
import type { RegistryCores } from './cores.ts'
import { idOf, LOG, ledgerWith, NOW, nameOf, type ProposalName, proposalIdOf } from './registry-fixture.ts'

export type Request = Extract<Command, { tag: 'commit' | 'approve' }>

/** Of a commit, which version it is told to be, and where. */
export type JobEnd =
  | { readonly tag: 'done'; readonly version: number | undefined; readonly index: number | undefined }
  | { readonly tag: 'refused'; readonly code: string }
  | { readonly tag: 'failed' | 'canceled' | 'expired' }

export interface Job {
  readonly command: Request
  end: JobEnd | undefined
}

/** A leaf on the drive. */
export interface Entry {
  readonly type: string
  readonly proposal: ProposalName
  readonly version: number
  readonly hash: string
  readonly prevHash: string
}

export interface CommitterState {
  readonly proposals: Job[]
  readonly approvals: Job[]
  isOpen: boolean
  /** Something came since the Committer last looked. */
  isRung: boolean
  readonly drive: { readonly durable: Entry[]; checkpointSize: number }
  /** Every root that was ever signed, for its size. */
  readonly signed: { readonly size: number; readonly root: string }[]
  published: { readonly version: number; readonly size: number }
  failuresLeft: number
  isAborting: boolean
  isEnded: boolean
}

export interface CommitterShell {
  readonly state: CommitterState
  /** What the ledger shows, for the fingerprint. */
  readonly shown: unknown
  readonly committer: () => Task
  submit(command: Request): Job | 'full' | 'closed'
  end(job: Job, how: JobEnd): void
  /** Whether the ledger takes it for open. */
  isOpen(name: ProposalName): boolean
  close(): void
  abort(): void
}

export interface CommitterShape {
  readonly open: readonly ProposalName[]
  readonly capacity: number
  readonly failures: number
}

/** The genesis is a leaf too. */
const LEAVES_BEFORE = 1

interface Batch {
  readonly draft: LedgerDraft
  readonly decided: { readonly job: Job; readonly outcome: CommandDecision }[]
  readonly entries: Entry[]
}

function rootOf(entries: readonly Entry[]): string {
  return entries.map(({ type, proposal, hash }) => `${type} ${proposal} ${hash.slice(3, 11)}`).join()
}

function placeIn(answer: CommandAnswer): { readonly version: number | undefined; readonly index: number | undefined } {
  const isVersion = 'version' in answer
  return { version: isVersion ? answer.version : undefined, index: isVersion ? answer.log_index : undefined }
}

/** What of a batch decides the future, since a draft keeps the rest to itself. */
function localsOf({ draft, decided, entries }: Batch): unknown {
  return [draft.head, draft.state.root, entries, decided.map(({ job, outcome }) => [job, outcome.tag])]
}

/** The two queues and the bell. */
function createIntake(state: CommitterState, capacity: number) {
  const submit: CommitterShell['submit'] = (command) => {
    const queue = command.tag === 'approve' ? state.approvals : state.proposals
    if (!state.isOpen) return 'closed'
    if (queue.length >= capacity) return 'full'
    const job: Job = { command, end: undefined }
    queue.push(job)
    state.isRung = true
    return job
  }

  const take = (): readonly Job[] | 'closed' => {
    const batch: Job[] = []
    while (state.approvals.length + state.proposals.length > 0) {
      const [approval, proposal] = [state.approvals.shift(), state.proposals.shift()]
      if (approval !== undefined) batch.push(approval)
      if (proposal !== undefined) batch.push(proposal)
    }
    return batch.length === 0 && !state.isOpen ? 'closed' : batch
  }

  return { submit, take }
}

export function createCommitterShell(cores: RegistryCores, shape: CommitterShape): CommitterShell {
  const ledger = ledgerWith(cores, shape.open)
  const state: CommitterState = {
    proposals: [],
    approvals: [],
    isOpen: true,
    isRung: false,
    drive: { durable: [], checkpointSize: 0 },
    signed: [],
    published: { version: 0, size: 0 },
    failuresLeft: shape.failures,
    isAborting: false,
    isEnded: false,
  }
  const { drive } = state

  const end = (job: Job, how: JobEnd): void => {
    job.end ??= how
  }

  const { submit, take } = createIntake(state, shape.capacity)

  const decideAll = (jobs: readonly Job[]): Batch => {
    const batch: Batch = { draft: ledger.draft(), decided: [], entries: [] }
    for (const job of jobs) {
      if (job.end !== undefined) continue
      const index = LEAVES_BEFORE + drive.durable.length + batch.entries.length
      const prevHash = batch.draft.head.hash
      const outcome = cores.decisions.decide(batch.draft, job.command, { log: LOG, index, now: NOW, newId: idOf(99) })
      batch.decided.push({ job, outcome })
      if (outcome.tag !== 'entry') continue
      const { type, head } = outcome.leaf
      batch.entries.push({ type, proposal: nameOf(job.command.proposalId), ...head, prevHash })
    }
    return batch
  }

  const answer = ({ decided }: Batch): void => {
    for (const { job, outcome } of decided) {
      if (outcome.tag === 'refused') end(job, { tag: 'refused', code: outcome.error.code })
      else end(job, { tag: 'done', ...placeIn(outcome.answer) })
    }
  }

  function* tries(label: string, batch: Batch): Steps<boolean> {
    const mayFail = (): boolean => state.failuresLeft > 0
    const how = yield select(label, { well: () => true, badly: mayFail }, localsOf(batch))
    if (how === 'badly') state.failuresLeft -= 1
    return how === 'well'
  }

  function* serve(jobs: readonly Job[]): Steps<'served' | 'aborted'> {
    yield step('decides', jobs)
    const batch = decideAll(jobs)
    if (batch.entries.length === 0) {
      answer(batch)
      return 'served'
    }
    if (yield* tries('makes the entries durable', batch)) return yield* finish(batch)
    for (const { job } of batch.decided) end(job, { tag: 'failed' })
    return 'served'
  }

  function* finish(batch: Batch): Steps<'served' | 'aborted'> {
    drive.durable.push(...batch.entries)
    const size = drive.durable.length
    state.signed.push({ size, root: rootOf(drive.durable) })
    while (!(yield* tries('makes the checkpoint durable', batch))) if (state.isAborting) return 'aborted'
    drive.checkpointSize = size
    ledger.absorb(batch.draft, [])
    state.published = { version: ledger.head.version, size }
    yield step('answers', localsOf(batch))
    answer(batch)
    return 'served'
  }

  function* committer(): Task {
    for (;;) {
      state.isRung = false
      const jobs = take()
      if (jobs === 'closed') break
      if (jobs.length > 0) {
        if ((yield* serve(jobs)) === 'aborted') break
        continue
      }
      const how = yield select('waits', { rung: () => state.isRung, aborted: () => state.isAborting })
      if (how === 'aborted') break
    }
    state.isEnded = true
  }

  return {
    state,
    committer,
    submit,
    end,
    isOpen: (name) => ledger.open(proposalIdOf(name)) !== undefined,
    get shown() {
      const committed = shape.open.map((name) => ledger.committed(proposalIdOf(name))?.version)
      const open = shape.open.map((name) => ledger.open(proposalIdOf(name))?.approvals.length)
      return [ledger.head, ledger.state.root, committed, open]
    },
    close() {
      state.isOpen = false
      state.isRung = true
    },
    abort() {
      state.isOpen = false
      state.isAborting = true
      for (const job of [...state.proposals.splice(0), ...state.approvals.splice(0)]) end(job, { tag: 'canceled' })
      state.isRung = true
    },
  }
}
