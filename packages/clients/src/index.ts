export { type Call, type CallContext, Caller, type CallerOptions } from './caller.ts'
export { InProcessTransport } from './in-process-transport.ts'
export {
  type NodeClient,
  nodeClient,
  type ServiceHealth,
  type ServiceReadiness,
  type ServiceVersion,
} from './node-client.ts'
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
export { type ProofSubject, type RegistryClient, registryClient } from './registry-client.ts'
export type { RegistryEvent } from './registry-stream.ts'
export { badAnswer, readObject, readText } from './response-body.ts'
export { NO_SCOPES, type ScopeGrant } from './scope-grant.ts'
export { type StorageClient, type StoredObject, storageClient } from './storage-client.ts'
