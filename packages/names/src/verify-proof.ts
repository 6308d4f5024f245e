/**
 * Checks a proof file and says what it is worth.
 *
 *   checkpoint ──► history ──► subject                      trust or pin given ──► verified
 *   believed?      approved?   proved by the state root?    neither            ──► consistent, NOT verified
 */
import {
  type Checkpoint,
  leafHash,
  parseCheckpoint,
  parseNote,
  type SignatureVerifier,
  verifyInclusion,
  verifyMapProof,
} from '@cairn/tlog'
import { type Address, equalBytes } from '@cairn/wire'
import { type Artifact, type Head, headOf, isOriginOf, requireGenesis } from './artifact.ts'
import { judgeArtifact } from './commit.ts'
import { isRelease, itemHash } from './item.ts'
import { createCommitLeaf, encodeLeaf } from './leaf.ts'
import type { NameProof, Proof, ProvenCommit } from './proof.ts'
import { type LogIdentity, signerSetOf } from './proposal.ts'
import { SIGNER_SET_ID, type SignerSetItem, signerSetHash } from './signer-set.ts'
import { rootHash, stateLeaf, statePath } from './state.ts'
import type { TrustFile } from './trust.ts'
import { type Check, expecting, type Finding, proofRefused, type Verdict, verdictOf } from './verdict.ts'
import { type VerifyOptions, verifyCheckpoint } from './verify-checkpoint.ts'

/** Returns the verdict on a proof. Never throws for what the proof holds; a caller that keeps a pin stores the returned one. */
export function verifyProof(
  proof: Proof,
  trust: TrustFile | undefined,
  verifier: SignatureVerifier,
  options: VerifyOptions,
): Verdict {
  try {
    return examine(proof, trust ?? options.pin?.trust, verifier, options)
  } catch (error) {
    return verdictOf(error)
  }
}

function examine(
  proof: Proof,
  trust: TrustFile | undefined,
  verifier: SignatureVerifier,
  options: VerifyOptions,
): Verdict {
  const checkpoint = parseCheckpoint(parseNote(proof.checkpoint).text)
  const { origin } = checkpoint
  if (trust !== undefined && origin !== trust.origin) {
    throw proofRefused('other_origin', `The proof is of the log ${origin}, not of ${trust.origin}.`)
  }
  const { checkpoint: note, consistency } = proof
  const believed = trust && { trust, ...verifyCheckpoint(note, consistency, trust, verifier, options) }
  const history = verifyHistory(proof, checkpoint, trust, verifier)
  const finding = proof.type === 'name' ? verifyName(proof, checkpoint, history) : verifyVersion(proof.version, history)
  const checked = [...describeHistory(proof, history), ...describeFinding(finding)]
  const examined = { origin, finding, checked, unchecked: [FOLD] }
  if (believed === undefined) return { ...examined, kind: 'consistent', unchecked: [...UNTRUSTED, FOLD] }
  return {
    ...examined,
    kind: 'verified',
    checked: [...believed.checked, ...checked],
    unchecked: [...believed.unchecked, FOLD],
    cosigned: believed.cosigned,
    pin: { trust: believed.trust, size: checkpoint.size, root: checkpoint.root },
  }
}

function verifyVersion(version: number, { artifact, head }: History): Finding {
  if (artifact.version === version) return { type: 'version', artifact, head }
  throw proofRefused('wrong_subject', `The proof ends with version ${artifact.version}, not with ${version}.`)
}

function verifyName(proof: NameProof, { size, root }: Checkpoint, history: History): Finding {
  const { name, item, lastLeaf } = proof
  const { head, artifact } = history
  const leaf = expecting('malformed', () => leafHash(encodeLeaf(lastLeaf.leaf)))
  expecting('not_included', () => {
    verifyInclusion({ index: size - 1, size, leaf, root, proof: lastLeaf.inclusion })
  })
  const { version, hash } = lastLeaf.leaf.head
  if (version !== head.version || hash !== head.hash) {
    throw proofRefused('not_current', `The proof is about version ${head.version}, but HEAD is version ${version}.`)
  }
  const path = statePath('name', name)
  const found = expecting('state_proof', () => verifyMapProof(rootHash(artifact.state_root), path, proof.itemProof))
  const expected = item === null ? undefined : stateLeaf('name', name, itemHash(item))
  const isProved = found !== undefined && expected !== undefined ? equalBytes(found, expected) : found === expected
  if (!isProved || (item !== null && item.id !== name)) {
    throw proofRefused('state_proof', `The state of version ${head.version} says something else of ${name}.`)
  }
  const release = history.releases.get(name)
  if (release !== undefined && (item === null || itemHash(item) !== release))
    throw proofRefused('release_changed', `${name} is a release, but the proof gives it another meaning.`)
  if (item !== null) verifyItemApproved(proof, itemHash(item))
  return { type: 'name', name, item, head }
}

/** The state root is the log's word; that the item was agreed upon is the signers'. A proof has both. */
function verifyItemApproved({ commits, name }: NameProof, hash: string): void {
  const isSet = commits.some(({ artifact }) => artifact.payload.items.some((item) => itemHash(item) === hash))
  if (!isSet) throw proofRefused('item_not_approved', `No commit in the proof gives ${name} this meaning.`)
}

const UNTRUSTED: readonly Check[] = [
  { check: 'checkpoint_signature', detail: 'Without a trust file no key is trusted, so no signature counts.' },
  { check: 'genesis', detail: 'The genesis is the one the file itself brings.' },
  { check: 'witnesses', detail: 'A split view is not excluded: there is no witness policy.' },
  { check: 'age', detail: 'How old the checkpoint is cannot be said.' },
  { check: 'pin', detail: 'No earlier checkpoint of this log is known here to compare with.' },
]

const FOLD: Check = {
  check: 'fold',
  detail: 'That the state root is the sum of all versions is the word of the log; reading the whole log checks it.',
}

function describeHistory({ commits }: Proof, { log, head, signerSets, approved }: History): Check[] {
  const approvals =
    head.version === 0
      ? 'Version 0 is genesis, which needs no approval.'
      : `Version ${head.version} and every earlier commit in the proof has its quorum; ${approved.join(', ')} approved it.`
  const sets =
    signerSets === 1 ? 'The signers are those of genesis' : `Each of ${signerSets} signer sets approved the next`
  return [
    { check: 'genesis', detail: `The history begins with ${log.genesis}.` },
    { check: 'inclusion', detail: `${commits.length} commits are in the tree of the checkpoint, in order.` },
    { check: 'signer_sets', detail: `${sets}, and the state root names the last.` },
    { check: 'approvals', detail: approvals },
  ]
}

function describeFinding(finding: Finding): Check[] {
  if (finding.type === 'version') return []
  const { name, item, head } = finding
  const meaning = item === null ? 'has no meaning' : `means ${item.manifest}`
  return [
    { check: 'current_head', detail: `The last leaf of the checkpoint says that version ${head.version} is HEAD.` },
    { check: 'state', detail: `The state of version ${head.version} proves that ${name} ${meaning}.` },
  ]
}

// * Walks the commits of a proof from genesis: each in its place in the tree, each approved by the signers in force.
//
//   genesis ──installs──► set A ──approves──► version 7 ──installs──► set B ──approves──► version 12 …
//
// A commit names the set that judged it, and a set names the one it replaces, both by hash: a link left out shows.
// Places and versions ascend together, so a commit by signers who were replaced cannot be slipped in later.

export interface History {
  readonly log: LogIdentity
  /** The version the proof ends with. */
  readonly artifact: Artifact
  readonly head: Head
  /** How many signer sets there were, the first included. */
  readonly signerSets: number
  /** The hash of the item of each release that the commits make. */
  readonly releases: ReadonlyMap<string, Address>
  /** Who approved the last commit, of the set in force. */
  readonly approved: readonly string[]
}

/** What the commits of a proof amount to; throws the refusal at the first that does not hold. */
function verifyHistory(
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
  const releases = new Map<string, Address>()
  let approved: readonly string[] = []
  for (const commit of later) {
    verifyOrder(last, commit)
    verifyPlace(commit, checkpoint)
    approved = verifyApprovals(commit.artifact, log, signerSet, verifier)
    verifyReleases(commit.artifact, releases)
    const next = signerSetOf(commit.artifact.payload)
    if (next !== undefined) {
      verifyLink(commit.artifact, signerSet, next)
      signerSet = next
      signerSets++
    }
    last = { commit, head: headOf(commit.artifact) }
  }
  verifySignerSet(proof, last.commit.artifact, signerSet)
  return { log, artifact: last.commit.artifact, head: last.head, signerSets, releases, approved }
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

/** No commit may touch a release once it is made: that quorums agreed to it changes nothing. */
function verifyReleases({ version, payload: { items } }: Artifact, releases: Map<string, Address>): void {
  for (const item of items) {
    if (item.kind !== 'name') continue
    if (releases.has(item.id))
      throw proofRefused('release_changed', `Version ${version} changes ${item.id}, which is a release.`)
    if (isRelease(item)) releases.set(item.id, itemHash(item))
  }
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
