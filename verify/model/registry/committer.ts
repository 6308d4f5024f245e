/**
 * Clients that commit and approve, the Committer, and a shutdown that comes when it likes.
 *
 *     client ─ asks ─▶ queue ─▶ Committer ─▶ log        caller's time over: it asks again, and hears the outcome
 *                                   supervisor: closes the queues, and may not wait for the end
 */
import { type Model, type Steps, select, step, type Task } from '../model.ts'
import type { Suite } from '../suite.ts'
import { createCommitterShell, type Entry, type Job, type JobEnd, type Request } from './committer-shell.ts'
import type { RegistryCores } from './cores.ts'
import { type ProposalName, proposalIdOf, SIGNATURE, TRUSTING } from './registry-fixture.ts'

type Ask = `${'commit' | 'approve'} ${ProposalName}`

interface Scene {
  /** What each client asks, in order. */
  readonly clients: Readonly<Record<string, readonly Ask[]>>
  /** How often the drive may refuse. */
  readonly failures: number
  /** How often a caller's time may be over before its answer comes. */
  readonly expiries: number
  readonly capacity?: number
  /** The supervisor may stop waiting. */
  readonly mayAbort?: boolean
}

interface Told {
  readonly proposal: ProposalName
  readonly isCommit: boolean
  readonly end: JobEnd
}

function commandOf(ask: Ask): { readonly proposal: ProposalName; readonly command: Request } {
  const [tag, proposal] = ask.split(' ') as ['commit' | 'approve', ProposalName]
  const proposalId = proposalIdOf(proposal)
  if (tag === 'commit') return { proposal, command: { tag, proposalId, corrId: '' } }
  const request = { signer_id: 'keeper', sig: SIGNATURE }
  return { proposal, command: { tag, proposalId, request, verifier: TRUSTING } }
}

function committing(cores: RegistryCores, name: string, scene: Scene): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const { failures, capacity = 4 } = scene
    const open = [
      ...new Set(Object.values(scene.clients).flatMap((asks) => asks.map((ask) => commandOf(ask).proposal))),
    ]
    const shell = createCommitterShell(cores, { open, capacity, failures })
    /** What each client was told, in its own order. */
    const heard: Record<string, Told[]> = Object.fromEntries(Object.keys(scene.clients).map((who) => [who, []]))
    const told = (): Told[] => Object.values(heard).flat()
    const history = { expiriesLeft: scene.expiries, hasLeftOut: false }

    /** Asks until there is an answer that says what became of it. */
    function* ask(who: string, wanted: Ask): Task {
      for (;;) {
        yield step(`asks: ${wanted}`)
        const { proposal, command } = commandOf(wanted)
        const job = shell.submit(command)
        const end: JobEnd = job === 'closed' || job === 'full' ? { tag: 'canceled' } : yield* answerTo(job)
        if (end.tag === 'expired' || end.tag === 'failed') continue
        heard[who]?.push({ proposal, isCommit: command.tag === 'commit', end })
        return
      }
    }

    function* answerTo(job: Job): Steps<JobEnd> {
      yield select(
        'waits for its answer',
        { answered: () => job.end !== undefined, 'its time is over': mayExpire },
        job,
      )
      if (job.end === undefined) history.expiriesLeft -= 1
      shell.end(job, { tag: 'expired' })
      return job.end ?? { tag: 'expired' }
    }

    const mayExpire = (): boolean => history.expiriesLeft > 0

    const tasks: Record<string, () => Task> = { committer: shell.committer }
    for (const [who, asks] of Object.entries(scene.clients)) {
      tasks[who] = function* () {
        for (const each of asks) yield* ask(who, each)
      }
    }
    tasks['supervisor'] = function* () {
      yield step('begins to drain')
      shell.close()
      if (scene.mayAbort !== true) return
      const how = yield select('waits for the end', { ended: () => shell.state.isEnded, deadline: () => true })
      if (how === 'ended') return
      shell.abort()
      history.hasLeftOut = true
      // What the Committer has begun and leaves ends when its caller's time is over.
      history.expiriesLeft = Object.keys(scene.clients).length
    }

    return {
      state: {
        shell: shell.state,
        history,
        heard,
        get ledger() {
          return shell.shown
        },
      },
      tasks,
      never: () => neverOf(shell.state.drive.durable, shell, told()),
      neverAtEnd: () => ({
        'service-not-stopped': !shell.state.isEnded,
        'outcome-not-told': told().some((each) => !isTruth(each, shell.state.drive.durable)),
        'nobody-won': isNobodyTheWinner(told()),
        'approval-forgotten': Object.values(heard).some(isForgotten),
        'committed-still-open':
          !history.hasLeftOut &&
          open.some((each) => isCommitted(shell.state.drive.durable, each) && shell.isOpen(each)),
        'entries-without-checkpoint':
          !history.hasLeftOut && shell.state.drive.checkpointSize < shell.state.drive.durable.length,
      }),
      leaks: () => ({ queued: shell.state.proposals.length + shell.state.approvals.length }),
      eventually: () => ({ 'the service stops': shell.state.isEnded }),
    }
  }
  return { name, setup }
}

function neverOf(
  durable: readonly Entry[],
  { state }: ReturnType<typeof createCommitterShell>,
  told: readonly Told[],
): Readonly<Record<string, boolean>> {
  const commits = durable.filter(({ type }) => type === 'commit')
  const committed = commits.map(({ proposal }) => proposal)
  const rotated = committed.indexOf('rotation')
  const done = told.flatMap(({ proposal, isCommit, end }) =>
    isCommit && end.tag === 'done' ? [{ proposal, end }] : [],
  )
  return {
    'committed-twice': new Set(committed).size < committed.length,
    'both-rivals-committed': committed.includes('site') && committed.includes('rival'),
    'version-not-next': commits.some(({ version }, at) => version !== at + 1),
    'chain-broken': commits.some(({ prevHash }, at) => at > 0 && prevHash !== commits[at - 1]?.hash),
    'committed-without-quorum': isBeforeApproval(durable),
    'committed-for-old-signers': rotated >= 0 && rotated < committed.length - 1,
    'two-roots-for-one-size': state.signed.some((a) =>
      state.signed.some((b) => a.size === b.size && a.root !== b.root),
    ),
    'told-before-durable': done.some(({ end }) => commits[(end.version ?? 0) - 1] === undefined),
    'told-before-signed': done.some(({ end }) => (end.version ?? 0) > state.published.version),
    'told-another-version': done.some(({ proposal, end }) => {
      const { proposal: found, version } = durable[(end.index ?? 0) - 1] ?? {}
      return found !== proposal || version !== end.version
    }),
    'published-before-signed': state.published.size > state.drive.checkpointSize,
  }
}

function isBeforeApproval(durable: readonly Entry[]): boolean {
  const committed = durable.findIndex(({ type, proposal }) => type === 'commit' && proposal === 'unapproved')
  const approved = durable.findIndex(({ type, proposal }) => type === 'approval' && proposal === 'unapproved')
  return committed >= 0 && (approved < 0 || approved > committed)
}

/** Whoever was told no more than that its time is over, or that the service stopped, was told nothing wrong. */
function isTruth({ proposal, isCommit, end }: Told, durable: readonly Entry[]): boolean {
  if (!isCommit) return true
  if (end.tag === 'done') return isCommitted(durable, proposal)
  // `unapproved` may be asked for too early, be refused, and be committed later.
  return end.tag !== 'refused' || !isCommitted(durable, proposal) || proposal === 'unapproved'
}

function isCommitted(durable: readonly Entry[], proposal: ProposalName): boolean {
  return durable.some((entry) => entry.type === 'commit' && entry.proposal === proposal)
}

/** Whoever approved, was told so and then commits has the quorum. */
function isForgotten(told: readonly Told[]): boolean {
  return told.some(({ proposal, isCommit, end }, at) => {
    if (isCommit || end.tag !== 'done') return false
    const later = told.slice(at).filter((each) => each.proposal === proposal && each.isCommit)
    return later.some((each) => each.end.tag === 'refused')
  })
}

/** Of two rivals that both heard what became of them, one was committed. */
function isNobodyTheWinner(told: readonly Told[]): boolean {
  const ends = (['site', 'rival'] as const).map(
    (rival) => told.filter(({ proposal }) => proposal === rival).at(-1)?.end,
  )
  return ends.every((end) => end?.tag === 'refused')
}

const SIGNERS_ROTATE = 'committer: signers rotate while another proposal is committed'

export const COMMITTER: Suite<RegistryCores> = {
  name: 'the Committer, its callers and a shutdown',
  smallest: (cores) => [
    committing(cores, 'committer: 2 rivals', {
      clients: { alice: ['commit site'], bob: ['commit rival'] },
      failures: 0,
      expiries: 0,
    }),
    committing(cores, 'committer: 1 proposal asked for twice, 1 caller out of time', {
      clients: { alice: ['commit site'] },
      failures: 0,
      expiries: 1,
    }),
  ],
  larger: (cores) => [
    committing(cores, 'committer: 2 rivals and another name', {
      clients: { alice: ['commit site'], bob: ['commit rival'], carol: ['commit other'] },
      failures: 0,
      expiries: 0,
    }),
    committing(cores, 'committer: 2 rivals, 1 failure', {
      clients: { alice: ['commit site'], bob: ['commit rival'] },
      failures: 1,
      expiries: 0,
    }),
    committing(cores, 'committer: one proposal asked for by two, 1 caller out of time', {
      clients: { alice: ['commit site'], bob: ['commit site'] },
      failures: 0,
      expiries: 1,
    }),
    committing(cores, 'committer: 1 proposal, 1 failure, 1 caller out of time, an abort', {
      clients: { alice: ['commit site'] },
      failures: 1,
      expiries: 1,
      mayAbort: true,
    }),
    committing(cores, 'committer: 2 rivals, an abort', {
      clients: { alice: ['commit site'], bob: ['commit rival'] },
      failures: 0,
      expiries: 0,
      mayAbort: true,
    }),
    committing(cores, 'committer: an approval races its commit', {
      clients: { keeper: ['approve unapproved', 'commit unapproved'], alice: ['commit unapproved'] },
      failures: 0,
      expiries: 0,
    }),
    committing(cores, SIGNERS_ROTATE, {
      clients: { alice: ['commit rotation'], bob: ['commit other'] },
      failures: 0,
      expiries: 0,
    }),
    committing(cores, 'committer: a queue of one', {
      clients: { alice: ['commit site'], bob: ['commit rival'] },
      failures: 0,
      expiries: 1,
      capacity: 1,
    }),
  ],
  mutants: [
    {
      name: 'a committed proposal is not remembered',
      file: 'domain/ledger.ts',
      find: 'this.#committed.set(proposalId, version)',
      replace: '',
      expect: 'outcome-not-told',
    },
    {
      name: 'a batch does not know what it commits itself',
      file: 'domain/ledger.ts',
      find: 'return this.#committed.get(id) ?? this.#base.committed(id)',
      replace: 'return this.#base.committed(id)',
      expect: 'outcome-not-told',
    },
    {
      name: 'whoever asks again is not told',
      file: 'domain/decide-core.ts',
      find: "if (done !== undefined) return { tag: 'known', answer: done }",
      replace: '',
      expect: 'outcome-not-told',
    },
    {
      name: 'a batch is decided against the state before it',
      file: 'domain/decide-core.ts',
      find: 'draft.commit(judged.commit, index)',
      replace: 'draft.commit({ ...judged.commit, state }, index)',
      expect: 'both-rivals-committed',
    },
    {
      name: 'a batch does not see that the signers changed in it',
      file: 'domain/decide-core.ts',
      find: 'draft.commit(judged.commit, index)',
      replace: 'draft.commit({ ...judged.commit, state }, index)',
      expect: 'committed-for-old-signers',
      model: SIGNERS_ROTATE,
    },
    {
      name: 'a batch is chained to the head before it',
      file: 'domain/decide-core.ts',
      find: 'draft.commit(judged.commit, index)',
      replace: 'draft.commit({ ...judged.commit, head }, index)',
      expect: 'version-not-next',
    },
    {
      name: 'a version is told another index than its leaf has',
      file: 'domain/decide-core.ts',
      find: 'draft.commit(judged.commit, index)',
      replace: 'draft.commit(judged.commit, index + 1)',
      expect: 'told-another-version',
    },
    {
      name: 'an approval is counted in its answer and nowhere else',
      file: 'domain/ledger.ts',
      find: 'const after = { ...before, approvals: [...before.approvals, approval] }',
      replace: 'return { ...before, approvals: [...before.approvals, approval] }',
      expect: 'approval-forgotten',
    },
    {
      name: 'what is committed stays open',
      file: 'domain/ledger.ts',
      find: 'this.close(proposalId)',
      replace: '',
      expect: 'committed-still-open',
    },
  ],
}
