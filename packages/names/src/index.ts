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
} from './artifact.ts'
export { type Commit, type CommitCase, judgeArtifact, judgeCommit, missingFor } from './commit.ts'
export {
  type Item,
  type ItemKind,
  isLive,
  isRelease,
  isReleaseTag,
  itemHash,
  itemKey,
  type LiveItem,
  NAME_FORM,
  NAME_LENGTH_MAX,
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
export { type Consistency, encodeProof, type Proof, type ProvenCommit, parseProof } from './proof.ts'
export {
  decodeBody,
  type LogIdentity,
  type Payload,
  type Proposal,
  type ProposalRequest,
  parsePayload,
  parseProposal,
  parseProposalRequest,
  payloadHash,
  proposalId,
  type Supersede,
  signerSetOf,
  signingInput,
} from './proposal.ts'
export { type RefusalCode, type RegistryRefusal } from './refusal.ts'
export {
  encodeSignerKey,
  newSigners,
  parseSigner,
  parseSignerKey,
  parseTrustRoots,
  type Signer,
  type SignerKey,
  type SignerSet,
  type SignerSetItem,
  signerSetHash,
} from './signer-set.ts'
export { RegistryState } from './state.ts'
export { encodePin, encodeTrust, type Pin, parsePin, parseTrust, type TrustFile, type WitnessPolicy } from './trust.ts'
export { type Check, type Finding, PROOF_REFUSALS, type Verdict } from './verdict.ts'
export { type CheckedCheckpoint, type VerifyOptions, verifyCheckpoint } from './verify-checkpoint.ts'
export { verifyProof } from './verify-proof.ts'
