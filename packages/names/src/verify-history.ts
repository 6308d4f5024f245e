/**
 * Walks the commits of a proof from genesis: each in its place in the tree, each approved by the signers in force.
 *
 *   genesis ──installs──► set A ──approves──► version 7 ──installs──► set B ──approves──► version 12 …
 *
 * A commit names the set that judged it, and a set names the one it replaces, both by hash: a link left out shows.
 * Places and versions ascend together, so a commit by signers who were replaced cannot be slipped in later.
 */
import { type Checkpoint, leafHash, type SignatureVerifier, verifyInclusion, verifyMapProof } from '@cairn/tlog'
import { equalBytes } from '@cairn/wire'
import { type Artifact, type Head, headOf, isOriginOf, requireGenesis } from './artifact.ts'
import { judgeArtifact } from './commit.ts'
import { createCommitLeaf, encodeLeaf } from './leaf.ts'
import type { Proof, ProvenCommit } from './proof.ts'
import { type LogIdentity, signerSetOf } from './proposal.ts'
import { SIGNER_SET_ID, type SignerSetItem, signerSetHash } from './signer-set.ts'
import { rootHash, stateLeaf, statePath } from './state.ts'
import { expecting, proofRefused } from './verdict.ts'

export interface History {
  readonly log: LogIdentity
  /** The version the proof ends with. */
  readonly artifact: Artifact
  readonly head: Head
  /** How many signer sets there were, the first included. */
  readonly signerSets: number
  /** Who approved the last commit, of the set in force. */
  readonly approved: readonly string[]
}

/** What the commits of a proof amount to; throws the refusal at the first that does not hold. */
export function verifyHistory(
  proof: Proof,
  checkpoint: Checkpoint,
  trusted: LogIdentity | undefined,
  verifier: SignatureVerifier,
): History {
  const [first, ...later] = proof.commits
  if (first === undefined || first.index !== 0 || first.artifact.version !== 0) {
    throw proofRefused('other_genesis', 'The proof does not begin with genesis, version 0 at index 0 of the log.')
  }
  let last = { commit: first, head: headOf(first.artifact) }
  const log: LogIdentity = { origin: checkpoint.origin, genesis: last.head.hash }
  verifyGenesis(log, trusted)
  let signerSet = expecting('other_genesis', () => requireGenesis(first.artifact))
  verifyPlace(first, checkpoint)
  let signerSets = 1
  let approved: readonly string[] = []
  for (const commit of later) {
    verifyOrder(last, commit)
    verifyPlace(commit, checkpoint)
    approved = verifyApprovals(commit.artifact, log, signerSet, verifier)
    const next = signerSetOf(commit.artifact.payload)
    if (next !== undefined) {
      verifyLink(commit.artifact, signerSet, next)
      signerSet = next
      signerSets++
    }
    last = { commit, head: headOf(commit.artifact) }
  }
  verifySignerSet(proof, last.commit.artifact, signerSet)
  return { log, artifact: last.commit.artifact, head: last.head, signerSets, approved }
}

function verifyGenesis({ origin, genesis }: LogIdentity, trusted: LogIdentity | undefined): void {
  if (trusted !== undefined && genesis !== trusted.genesis) {
    throw proofRefused('other_genesis', `The proof begins with the genesis ${genesis}, not with ${trusted.genesis}.`)
  }
  if (!isOriginOf(origin, genesis)) {
    throw proofRefused('other_genesis', `The origin ${origin} does not belong to the genesis ${genesis}.`)
  }
}

function verifyPlace({ artifact, index, inclusion }: ProvenCommit, { size, root }: Checkpoint): void {
  const leaf = expecting('malformed', () => leafHash(encodeLeaf(createCommitLeaf(artifact))))
  expecting('not_included', () => {
    verifyInclusion({ index, size, leaf, root, proof: inclusion })
  })
}

function verifyOrder(last: { readonly commit: ProvenCommit; readonly head: Head }, next: ProvenCommit): void {
  const { version, prev_hash } = next.artifact
  const ascends = version > last.head.version && next.index > last.commit.index
  const chains = version !== last.head.version + 1 || prev_hash === last.head.hash
  if (ascends && chains) return
  const detail = `Version ${version} at index ${next.index} does not follow version ${last.head.version} of the proof.`
  throw proofRefused('wrong_order', detail)
}

/** Gives who of the set in force approved. */
function verifyApprovals(
  artifact: Artifact,
  log: LogIdentity,
  signerSet: SignerSetItem,
  verifier: SignatureVerifier,
): readonly string[] {
  const judgement = judgeArtifact(log, artifact, signerSet, verifier)
  if (judgement.kind === 'ok') return judgement.quorum.approved
  const { version } = artifact
  if (judgement.code === 'stale_signer_set') throw missingLink(version)
  throw proofRefused('not_approved', `Version ${version} is not approved: ${judgement.detail}`)
}

function verifyLink({ version }: Artifact, current: SignerSetItem, next: SignerSetItem): void {
  if (next.prev !== signerSetHash(current)) throw missingLink(version)
}

/** Without this, a proof could leave out the latest change of signers and go on with those who were replaced. */
function verifySignerSet(proof: Proof, { version, state_root }: Artifact, signerSet: SignerSetItem): void {
  const path = statePath('signer_set', SIGNER_SET_ID)
  const found = expecting('state_proof', () => verifyMapProof(rootHash(state_root), path, proof.signerSet))
  const expected = stateLeaf('signer_set', SIGNER_SET_ID, signerSetHash(signerSet))
  if (found === undefined || !equalBytes(found, expected)) throw missingLink(version)
}

const missingLink = (version: number): Error =>
  proofRefused('missing_signer_set_link', `The proof lacks a change of signers before version ${version}.`)
