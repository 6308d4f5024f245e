export {
  type Approval,
  type ApprovalCase,
  type ApprovalRequest,
  judgeApproval,
  judgeQuorum,
  parseApproval,
  parseApprovalRequest,
  type Quorum,
} from './approval.ts'
export {
  type Artifact,
  artifactHash,
  createGenesis,
  type Head,
  headOf,
  isOriginOf,
  logIdentity,
  parseArtifact,
  proposalOf,
} from './artifact.ts'
export { type Commit, type CommitCase, judgeArtifact, judgeCommit, missingFor } from './commit.ts'
export {
  type Item,
  type ItemKind,
  isLive,
  itemHash,
  itemKey,
  type LiveItem,
  type NameItem,
  parseItem,
  parseName,
  type RemovedItem,
} from './item.ts'
export {
  type ApprovalLeaf,
  type AuditHead,
  type AuditHeadLeaf,
  type CommitLeaf,
  createApprovalLeaf,
  createAuditHeadLeaf,
  createCommitLeaf,
  createProposalLeaf,
  createSnapshotLeaf,
  decodeLeaf,
  encodeLeaf,
  type GenesisLeaf,
  type LogLeaf,
  MAX_LEAF_BYTES,
  type ProposalLeaf,
  parseAuditChain,
  parseAuditHead,
  type SnapshotLeaf,
} from './leaf.ts'
export {
  LogReplay,
  type MadeVersion,
  type PayloadReader,
  type ReplayedProposal,
  type ReplayPlace,
} from './log-replay.ts'
export { type Payload, parsePayload, payloadHash, signerSetOf } from './payload.ts'
export {
  type Consistency,
  encodeProof,
  type NameProof,
  type Proof,
  type ProvenCommit,
  parseProof,
  type VersionProof,
} from './proof.ts'
export { type LogIdentity, type Proposal, parseProposal, proposalId, type Supersede, signingInput } from './proposal.ts'
export { REFUSALS, type RefusalCode, type Refused } from './refusal.ts'
export { decodeBody, type ProposalRequest, parseProposalRequest } from './request.ts'
export { encodeSignerKey, parseSignerKey, type SignerKey } from './signer-key.ts'
export {
  newSigners,
  parseSigner,
  parseTrustRoots,
  type Signer,
  type SignerSet,
  type SignerSetItem,
  signerSetHash,
} from './signer-set.ts'
export { State } from './state.ts'
export { encodePin, encodeTrust, type Pin, parsePin, parseTrust, type TrustFile, type WitnessPolicy } from './trust.ts'
export { type Check, type Finding, PROOF_REFUSALS, type ProofRefusalCode, type Verdict } from './verdict.ts'
export { type CheckedCheckpoint, type VerifyOptions, verifyCheckpoint } from './verify-checkpoint.ts'
export { verifyProof } from './verify-proof.ts'
