export type {
  CommittedProposal,
  NamedItem,
  OpenProposal,
  ProofSubject,
  ProposalPage,
  Proposed,
  ProviderSet,
  RankedProvider,
  RegistryEvent,
  RegistryHead,
  Resolution,
  VersionFacts,
} from '@cairn/clients'
export { CairnError, type ErrorKind } from '@cairn/kernel'
export {
  encodePin,
  encodeTrust,
  type Finding,
  type Payload,
  type Pin,
  parsePin,
  parseTrust,
  type TrustFile,
  type Verdict,
} from '@cairn/names'
export type { Address, TreeEntry } from '@cairn/wire'
export { Cairn, type CairnOptions, type EventsOptions, type ResolveOptions, type ServiceEvent } from './cairn.ts'

export { type DiffOptions, diffTrees, type TreeChange } from './diff.ts'

export type { GetOptions, GetProgress } from './get.ts'
export type { Fetch } from './http.ts'
export type {
  AbortOptions,
  DurabilityReport,
  GiveUpOptions,
  GiveUpReport,
  ListedObject,
  ListOptions,
  ObjectPage,
  ScrubReport,
} from './maintenance.ts'
export type { Belief } from './proof.ts'
export type { PutOptions, PutProgress, PutResult } from './put.ts'
export type { ProvenName, Registry } from './registry.ts'
export type { Source } from './source.ts'
export type {
  DirectoryReader,
  DirectoryWriter,
  GetTreeOptions,
  ReadableEntry,
  TreeOptions,
  TreeProgress,
  TreeResult,
} from './tree.ts'
