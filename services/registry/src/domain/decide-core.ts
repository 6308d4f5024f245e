/**
 * What becomes of one command, given everything decided before it. Pure but for the draft it writes to: nothing is
 * read, awaited or drawn here, so that a batch is decided in one step.
 *
 *     command ─┬─ entry: a leaf for the log, and the answer once it is durable and signed
 *              ├─ known: it was done before; the same answer
 *              └─ refused: an error, and no trace in the draft
 */
import { CairnError } from '@cairn/kernel'
import {
  type Artifact,
  createApprovalLeaf,
  createAuditHeadLeaf,
  createCommitLeaf,
  createProposalLeaf,
  createSnapshotLeaf,
  judgeApproval,
  judgeCommit,
  judgeQuorum,
  type LogIdentity,
  type LogLeaf,
  type RegistryState,
  signerSetHash,
  signingInput,
} from '@cairn/names'
import { type Address, canonicalJson, digestOf } from '@cairn/wire'
import { crowded, noSuchProposal, proposalExists, refusal } from '../errors.ts'
import type { Command, CommandAnswer } from './commands.ts'
import type { LedgerDraft } from './ledger.ts'
import { encodeArtifactRecord } from './record.ts'

/** What of a batch is kept beside its leaves. */
export interface Part {
  readonly kind: 'artifact' | 'payload'
  readonly number: number
  readonly hash: Uint8Array
  readonly bytes: Uint8Array
}

export type CommandDecision =
  | {
      readonly tag: 'entry'
      readonly leaf: LogLeaf
      readonly part: Part | undefined
      readonly answer: CommandAnswer
      /** A commit that overrules the version before it. */
      readonly supersedes?: true
    }
  | { readonly tag: 'known'; readonly answer: CommandAnswer }
  | { readonly tag: 'refused'; readonly error: CairnError }

export interface DecideInput {
  readonly log: LogIdentity
  /** The index the next leaf gets. */
  readonly index: number
  /** Unix milliseconds. */
  readonly now: number
  /** For a proposal: an id never used before. */
  readonly newId: string
}

/** How long a proposal can be approved and committed. */
const PROPOSAL_TTL_MS = 24 * 60 * 60 * 1000
/** What may be open at once: bounds what a proposer can make the registry remember. */
const OPEN_MAX = 4096
const OPEN_BYTES_MAX = 64 * 1024 * 1024

type Of<Tag extends Command['tag']> = Extract<Command, { tag: Tag }>

export function decide(
  draft: LedgerDraft,
  command: Exclude<Command, Of<'checkpoint'> | Of<'cosign'>>,
  input: DecideInput,
): CommandDecision {
  switch (command.tag) {
    case 'propose':
      return propose(draft, command, input)
    case 'approve':
      return approve(draft, command, input)
    case 'commit':
      return commit(draft, command, input)
    case 'audit-head': {
      const leaf = createAuditHeadLeaf(draft.head, command.audit)
      return { tag: 'entry', leaf, part: undefined, answer: { log_index: input.index } }
    }
    case 'snapshot':
      return snapshot(draft, command, input)
  }
}

function propose(draft: LedgerDraft, command: Of<'propose'>, { log, index, now, newId }: DecideInput): CommandDecision {
  const { payload, payload_b3, supersede, apart, id = newId } = command
  if (draft.open(id) !== undefined || draft.committed(id) !== undefined) return refused(proposalExists(id))
  if (draft.openCount >= OPEN_MAX || draft.openBytes >= OPEN_BYTES_MAX) return refused(crowded(draft.openCount))
  // A signature on it would be given in vain.
  const fixed = draft.state.refuseForever(payload)
  if (fixed !== undefined) return refused(refusal(fixed))
  const { signerSet } = draft.state
  const proposal = {
    proposal_id: id,
    expires_at: now + PROPOSAL_TTL_MS,
    signer_set_hash: signerSetHash(signerSet),
    payload_b3,
    ...(supersede === undefined ? {} : { supersede }),
  }
  const bytes = apart?.length ?? canonicalJson(payload).length
  const leaf = createProposalLeaf(draft.head, proposal, payload)
  draft.propose({ proposal, payload, bytes, approvals: [], logIndex: index })
  const answer = {
    proposal_id: id,
    payload_b3,
    signing_input: new TextDecoder().decode(signingInput(log, proposal)),
    expires_at: proposal.expires_at,
    quorum: judgeQuorum(signerSet, payload, []),
    log_index: index,
  }
  const part: Part | undefined =
    apart === undefined ? undefined : { kind: 'payload', number: index, hash: digestOf(payload_b3), bytes: apart }
  return { tag: 'entry', leaf, part, answer }
}

function approve(draft: LedgerDraft, command: Of<'approve'>, { log, index, now }: DecideInput): CommandDecision {
  const { proposalId, request, verifier } = command
  const open = draft.open(proposalId)
  if (open === undefined) return refused(gone(draft, proposalId))
  const { signerSet } = draft.state
  const judged = judgeApproval({ log, ...open, signerSet, formerSigners: draft.formerSigners, now }, request, verifier)
  if (judged.kind === 'refused') return refused(refusal(judged))
  const { approvals, payload } = draft.approve(open, judged.approval)
  const leaf = createApprovalLeaf(draft.head, proposalId, judged.approval)
  const quorum = judgeQuorum(signerSet, payload, approvals)
  return { tag: 'entry', leaf, part: undefined, answer: { approvals: approvals.length, quorum, log_index: index } }
}

function commit(draft: LedgerDraft, { proposalId }: Of<'commit'>, { index, now }: DecideInput): CommandDecision {
  const done = draft.committed(proposalId)
  if (done !== undefined) return { tag: 'known', answer: done }
  const open = draft.open(proposalId)
  if (open === undefined) return refused(noSuchProposal(proposalId))
  const { head, state } = draft
  const judged = judgeCommit({ head, state, ...open, now })
  if (judged.kind === 'refused') return refused(refusal(judged))
  const { artifact, state: next } = judged.commit
  const facts = draft.commit(judged.commit, index)
  const entry = { tag: 'entry', leaf: createCommitLeaf(artifact), answer: facts } as const
  const part = artifactPart(artifact, next, facts.hash)
  return artifact.proposal.supersede === undefined ? { ...entry, part } : { ...entry, part, supersedes: true }
}

/** The record of an artifact, which goes before the leaf that makes it count. */
export function artifactPart(artifact: Artifact, state: RegistryState, hash: Address): Part {
  const bytes = encodeArtifactRecord(state.prove('signer_set', 'root'), canonicalJson(artifact))
  return { kind: 'artifact', number: artifact.version, hash: digestOf(hash), bytes }
}

/** Only of the state as it stands: whoever pruned by an older one would lose what came since. */
function snapshot(draft: LedgerDraft, { version, address }: Of<'snapshot'>, { index }: DecideInput): CommandDecision {
  if (draft.head.version !== version)
    return refused(new CairnError('ChainMismatch', `The snapshot is of version ${version}; HEAD has moved on.`))
  const leaf = createSnapshotLeaf(draft.head, address)
  return { tag: 'entry', leaf, part: undefined, answer: { log_index: index } }
}

function gone(draft: LedgerDraft, proposalId: string): CairnError {
  const done = draft.committed(proposalId)
  if (done === undefined) return noSuchProposal(proposalId)
  const detail = `The proposal ${proposalId} is version ${done.version}; it takes no more approvals.`
  return new CairnError('Conflict', detail, { code: 'AlreadyCommitted' })
}

function refused(error: CairnError): CommandDecision {
  return { tag: 'refused', error }
}
