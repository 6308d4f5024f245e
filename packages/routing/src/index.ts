export {
  type DelegatedPeer,
  delegatedJson,
  delegatedLines,
  filterList,
  NDJSON,
  wantsNdjson,
} from './delegated-routing.ts'
export { DialPolicy, type DialPolicyOptions } from './dial-policy.ts'
export { HttpRouting, type HttpRoutingOptions } from './http-routing.ts'
export type { AnnounceTarget } from './index-outbox.ts'
export { KadRouting, type KadRoutingOptions } from './kad-routing.ts'
export { type RecordState, ROUTING_METRICS } from './metrics.ts'
export {
  LocalRecords,
  type LocalRecordsOptions,
  ProviderRecordStore,
  type PutOutcome,
  RecordSigner,
  type RecordSignerOptions,
  type RecordStoreLimits,
} from './provider-record-store.ts'
export type { Provider, ProviderRouting, RoutingLeg, RoutingPeer } from './provider-routing.ts'
export { type ProviderClaim, type ProviderRecord, type SignedProviderRecord } from './record.ts'
export { providerOf, RecordGate, type RecordGateOptions } from './record-gate.ts'

export { RepublishSchedule } from './republish-schedule.ts'
export { type SimPeer } from './sim-routing.ts'
