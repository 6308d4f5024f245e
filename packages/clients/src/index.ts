export {
  type AuditAnchor,
  type AuditFacts,
  type AuditLine,
  type AuditVerdict,
  auditLineHash,
  decodeAuditLine,
  encodeAuditLine,
  formatLineRanges,
  type LineRange,
  NO_LINE,
  verifyAudit,
} from './audit-trail.ts'
export { type Call, type CallContext, Caller, type CallerOptions, NO_SCOPES, type ScopeGrant } from './caller.ts'
export { type EdgeClient, type EdgePack, edgeClient } from './edge-client.ts'
export {
  type Announced,
  type Hedge,
  type IndexClient,
  type IndexResolveOptions,
  indexClient,
  type KnownPeer,
  type KnownPeers,
  type ProviderClass,
  type ProviderSet,
  type ProvidersOptions,
  type RankedProvider,
  type Resolution,
  type ResolutionSource,
} from './index-client.ts'

export type {
  AuditPage,
  HookProvider,
  Hooks,
  LeasedMessage,
  LeaseReceipt,
  MailboxMessage,
  MailboxPage,
  WebhookAnswer,
} from './interop-answers.ts'
export { type InteropClient, interopClient, type PageRequest } from './interop-client.ts'
export { type NodeClient, type ServiceHealth, type ServiceReadiness, type ServiceVersion } from './node-client.ts'
export type {
  CommittedProposal,
  ListedProposal,
  NamedItem,
  OpenProposal,
  ProposalPage,
  Proposed,
  RegistryHead,
  StreamedVersion,
  VersionFacts,
} from './registry-answers.ts'
export { type ProofSubject, type RegistryClient, type RegistryEvent, registryClient } from './registry-client.ts'

export { badAnswer, readObject, readText } from './response-body.ts'
export { followEvents, type ReceivedEvent } from './server-events.ts'

export { type AddressPage, type PutReceipt, type StorageClient, storageClient } from './storage-client.ts'
export { type CopyClient, copyClient, type RemoteCopy } from './storage-copies.ts'
