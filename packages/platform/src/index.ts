export { type ConfigProblem, type ConfigRefusalReason, renderProblems } from './config/problem.ts'
export {
  byteSize,
  type ConfigSchemas,
  type ConfigValues,
  type DeclaredKey,
  declaredKeys,
  duration,
  type Quantity,
  type Reload,
  type SettingFacts,
  section,
  setting,
} from './config/setting.ts'
export type { ConfigFlag, ConfigSources } from './config/sources.ts'
export {
  type ConfigChange,
  type ConfigFollower,
  type ConfigRow,
  ConfigStore,
  type Loaded,
  loadConfig,
  type OpenedConfig,
  type Rebinding,
  type ReloadOutcome,
  type ReloadSource,
  reloadMetrics,
} from './config/store.ts'
export type { Crypto, Sign } from './crypto.ts'
export { systemCrypto } from './crypto.ts'
export {
  type DataDirectory,
  type DataDirectoryOptions,
  openDataDirectory,
  stateDirectory,
} from './data/data-directory.ts'
export { MaintenanceLock } from './data/maintenance-lock.ts'
export { makeRootKey, type RootKey, readSecret, writeSecret } from './data/secret-file.ts'
export type { Disk, DiskEntry, DiskFile, DiskSpace, OpenOptions } from './disk/disk.ts'
export {
  jsonIn,
  makeDirectories,
  PersistedValue,
  readSmallFile,
  readSmallJson,
  replaceSmallFile,
  replaceSmallJson,
  type SmallJson,
} from './disk/durable-file.ts'
export { MemoryDisk } from './disk/memory-disk.ts'
export { RealDisk } from './disk/real-disk.ts'
export { nodeLookup } from './egress/checked-connector.ts'
export { GuardedTransport, type GuardedTransportOptions } from './egress/guarded-transport.ts'
export {
  abortable,
  type IncomingBody,
  type IncomingResponse,
  type InterimListener,
  type Lookup,
  type OutgoingRequest,
  type Transport,
  unixSocketPath,
  unixUrl,
} from './egress/transport.ts'
export { UndiciTransport } from './egress/undici-transport.ts'
export { type AddressClass, classifyAddress, joinUrl, UrlPolicy, type UrlPolicyOptions } from './egress/url-policy.ts'
export { capabilityAuthorizer, NO_CAPABILITIES } from './http/authorizer.ts'
export { type IngressConfig, ingressSection, type ListenConfig, listenKeys } from './http/config.ts'
export { type EventSource, eventFrame, eventStream, eventsRoute, type ServerEvent } from './http/event-stream.ts'
export { CODINGS, type Coding, type Inflate, openCoded, threadInflate } from './http/inflate.ts'
export { Ingress, type IngressOptions, type SiteHosts, type WorkLane } from './http/ingress.ts'
export type { Listen, Listener, ListenerOptions } from './http/listener.ts'
export { type ListenAddress, parseBindAddress } from './http/listener.ts'
export { checkListen } from './http/listeners.ts'
export { empty, type IngressRequest, type IngressResponse, json, type Peer, problem } from './http/message.ts'
export { INGRESS_METRICS } from './http/metrics.ts'
export { type ApiTitle } from './http/openapi.ts'
export { type OpsSource, type ReadyFields } from './http/ops-routes.ts'
export {
  type ByterangesFrame,
  byterangesFrame,
  isSelective,
  judgeConditions,
  rangeLength,
  type SelectingRequest,
  type Selection,
  selectBytes,
} from './http/representation.ts'
export type { RequestHeaders } from './http/request-headers.ts'
export type { RefusedRequest } from './http/responder.ts'
export {
  defineRoutes,
  type RequestContext,
  type RequestHead,
  type Route,
  type RouteRow,
  type RouteTable,
  route,
} from './http/route.ts'
export {
  type RunningService,
  runService,
  type ServiceConfig,
  type ServiceParts,
  type StopTogether,
} from './http/service.ts'
export type { CheckHost, ServiceHost, ServiceModule, StartedService } from './http/service-module.ts'
export { queueLane, serveWorkLane, type WorkQueue } from './http/work-lane.ts'
export {
  type LogDestination,
  type LogFormat,
  type LogLevel,
  LogOutput,
  type LogOutputOptions,
  logSection,
  standardError,
} from './observe/log-output.ts'
export { PROCESS_METRICS, ProcessMetrics } from './observe/process-metrics.ts'
export { PrometheusMetrics } from './observe/prometheus-metrics.ts'
export type { Platform } from './platform.ts'
export type { HostProcess, Signal } from './process/process.ts'
export { keepHeapSmall, RealProcess } from './process/process.ts'
export { createPlatform, openIsolated, openWorkers, type SharedResources } from './real-platform.ts'
export { FILE_REPLACED, IDENTIFY_FILE, QUERY_SQLITE, type SqliteRow } from './sqlite/query-sqlite.ts'
export type { WorkerOptions, Workers, WorkerTask } from './workers/worker-pool.ts'
export { type WorkerPoolOptions } from './workers/worker-pool.ts'
