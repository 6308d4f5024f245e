export { type Call, type CallContext, Caller, type CallerOptions } from './caller.ts'
export { InProcessTransport } from './in-process-transport.ts'
export {
  type NodeClient,
  nodeClient,
  type ServiceHealth,
  type ServiceReadiness,
  type ServiceVersion,
} from './node-client.ts'
export { badAnswer, readObject, readText } from './response-body.ts'
export { NO_SCOPES, type ScopeGrant } from './scope-grant.ts'
export { type StorageClient, type StoredObject, storageClient } from './storage-client.ts'
