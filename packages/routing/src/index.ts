export {
  type DelegatedPeer,
  delegatedJson,
  delegatedLines,
  delegatedPath,
  filterList,
  NDJSON,
  readDelegated,
  wantsNdjson,
} from './delegated-routing.ts'
export { HttpRouting, type HttpRoutingOptions } from './http-routing.ts'
export type { AnnounceTarget } from './index-outbox.ts'
export { KadRouting, type KadRoutingOptions } from './kad-routing.ts'
export { LocalRecords, type LocalRecordsOptions } from './local-records.ts'
export { LocalRouting } from './local-routing.ts'
export { type RecordState, ROUTING_METRICS } from './metrics.ts'
export type { FindOptions, Leg, Provider, ProviderRouting, RoutingPeer } from './provider-routing.ts'
export { Reach, type ReachOptions } from './reach.ts'
export {
  type ProviderClaim,
  type ProviderRecord,
  RECORD_BYTES_MAX,
  RECORD_TTL_MS,
  REPUBLISH_MS,
  type SignedProviderRecord,
  signRecord,
  verifyRecord,
} from './record.ts'
export { providerOf, RecordGate, type RecordGateOptions } from './record-gate.ts'
export { RecordSigner, type RecordSignerOptions } from './record-signer.ts'
export { type PutOutcome, RecordStore, type RecordStoreLimits } from './record-store.ts'
export { RepublishSchedule } from './republish-schedule.ts'
export { type SimPeer, SimRouting } from './sim-routing.ts'
