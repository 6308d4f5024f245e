/**
 * The one decision that moves HEAD, as a pure function: what an approved proposal becomes, or why it does not; and the
 * same decision looked at afterwards.
 */
import { CairnError } from '@cairn/kernel'
import type { SignatureVerifier } from '@cairn/tlog'
import { spellCount } from '@cairn/wire'
import { type Approval, judgeApproval, judgeQuorum, type Quorum, staleSet } from './approval.ts'
import { type Artifact, createArtifact, type Head, headOf, proposalOf } from './artifact.ts'
import { type LogIdentity, type Payload, type Proposal, payloadHash } from './proposal.ts'
import { type RegistryRefusal, refused } from './refusal.ts'
import { SIGNER_SET_ID, type SignerSetItem, signerSetHash } from './signer-set.ts'
import type { RegistryState } from './state.ts'

export interface CommitCase {
  /** The registry as it stands, earlier commits of the same batch included. */
  readonly head: Head
  readonly state: RegistryState
  readonly proposal: Proposal
  readonly payload: Payload
  /** Each of them judged when it came. */
  readonly approvals: readonly Approval[]
  /** Unix milliseconds. */
  readonly now: number
}

export interface Commit {
  readonly artifact: Artifact
  readonly head: Head
  readonly state: RegistryState
}

/** The next version, or the first reason against it: expired, stale set, quorum, HEAD moved, an item changed. */
export function judgeCommit(
  commitCase: CommitCase,
): { readonly kind: 'ok'; readonly commit: Commit } | RegistryRefusal {
  const { head, state, proposal, payload, approvals, now } = commitCase
  if (payloadHash(payload) !== proposal.payload_b3) {
    throw new CairnError('Integrity', `The payload of ${proposal.proposal_id} is not the one that was signed.`)
  }
  if (now >= proposal.expires_at) return refused('expired', `The proposal ${proposal.proposal_id} has expired.`)
  if (proposal.signer_set_hash !== state.hashOf('signer_set', SIGNER_SET_ID)) return staleSet(proposal)
  const quorum = judgeQuorum(state.signerSet, payload, approvals)
  if (!quorum.isMet) return refused('quorum_failed', missingFor(quorum))
  const { supersede } = proposal
  if (supersede !== undefined && supersede.of !== head.hash) {
    return refused('head_moved', `This supersedes ${supersede.of}, but HEAD is ${head.hash} by now. Propose again.`)
  }
  const applied = state.apply(payload)
  if (applied.kind === 'refused') return applied
  const place = { version: head.version + 1, prev_hash: head.hash, state_root: applied.state.root, committed_at: now }
  const artifact = createArtifact(place, proposal, payload, approvals)
  return { kind: 'ok', commit: { artifact, head: headOf(artifact), state: applied.state } }
}

/**
 * Whether a version that stands was rightly committed, by the set in force before it: each of its approvals is good,
 * and together they are enough. The same rules as at the time, with the time it was committed as now.
 */
export function judgeArtifact(
  log: LogIdentity,
  artifact: Artifact,
  signerSet: SignerSetItem,
  verifier: SignatureVerifier,
): { readonly kind: 'ok'; readonly quorum: Quorum } | RegistryRefusal {
  const { payload, prev_hash, committed_at: now } = artifact
  const proposal = proposalOf(artifact)
  if (proposal.signer_set_hash !== signerSetHash(signerSet)) return staleSet(proposal)
  const approvals: Approval[] = []
  for (const approval of artifact.approvals) {
    const approvalCase = { log, proposal, payload, signerSet, formerSigners: [], approvals, now }
    const judgement = judgeApproval(approvalCase, approval, verifier)
    if (judgement.kind === 'refused') return judgement
    if (judgement.approval.role !== approval.role) {
      return refused('invalid_sig', `The signature of ${approval.signer_id} is not by the key it is filed under.`)
    }
    approvals.push(approval)
  }
  const quorum = judgeQuorum(signerSet, payload, approvals)
  if (!quorum.isMet) return refused('quorum_failed', missingFor(quorum))
  const { supersede } = proposal
  if (supersede === undefined || supersede.of === prev_hash) return { kind: 'ok', quorum }
  return refused('head_moved', `It supersedes ${supersede.of}, but follows ${prev_hash}.`)
}

/** Says who is missing, so that the reader knows whom to ask. */
export function missingFor({ m, approved, missing, incoming }: Quorum): string {
  const lacking = Math.max(0, m - approved.length)
  const signers = `It needs ${spellCount(m, 'approval')} and has ${approved.length}`
  const whom = missing.length === lacking ? '' : `${lacking} of `
  const ask = lacking === 0 ? '' : `; ask ${whom}${missing.join(', ')}`
  const keys = incoming.missing.length === 0 ? '' : `; the new keys of ${incoming.missing.join(', ')} have not signed`
  return `${signers}${ask}${keys}.`
}
