export { type Loaded, loadConfig } from './config/load.ts'
export { type ConfigProblem, type RefusalReason, renderProblems } from './config/problem.ts'
export { byteSize, duration, type Quantity } from './config/quantity.ts'
export { renderConfigReference } from './config/reference.ts'
export {
  type ConfigSchemas,
  type ConfigValues,
  type DeclaredKey,
  declaredKeys,
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
  type Opened,
  type Rebinding,
  type ReloadOutcome,
  type ReloadSource,
  reloadMetrics,
} from './config/store.ts'
export type { Crypto, Sign } from './crypto.ts'
export { systemCrypto } from './crypto-system.ts'
export { type DataDirectory, type DataDirectoryOptions, openDataDirectory } from './data/data-directory.ts'
export { makeRootKey, type RootKey } from './data/root-key.ts'
export { readSecret, writeSecret } from './data/secret-file.ts'
export { stateDirectory } from './data/state-directory.ts'
export { Upkeep } from './data/upkeep.ts'
export type { Disk, DiskEntry, DiskFile, DiskLock, DiskSpace, OpenOptions } from './disk/disk.ts'
export { diskError, diskFailure, fileFailed, locked, shortWrite } from './disk/disk-error.ts'
export { makeDirectories, readSmallFile, replaceSmallFile } from './disk/durable-file.ts'
export { FileBytes } from './disk/file-bytes.ts'
export { type DirectoryNode, type FileNode, FileTree, type TreeNode } from './disk/file-tree.ts'
export { KeptValue } from './disk/kept-value.ts'
export { MemoryDisk } from './disk/memory-disk.ts'
export { RealDisk } from './disk/real-disk.ts'
export { jsonIn, readSmallJson, replaceSmallJson, type SmallJson } from './disk/small-json.ts'
export { abortable } from './egress/abortable.ts'
export { type AddressClass, classifyAddress, isPublicUnicast } from './egress/address.ts'
export { GuardedTransport, type GuardedTransportOptions } from './egress/guarded-transport.ts'
export { nodeLookup } from './egress/node-lookup.ts'
export {
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
export { joinUrl, UrlPolicy, type UrlPolicyOptions } from './egress/url-policy.ts'
export type { RefusedRequest } from './http/answers.ts'
export { type Authorizer, capabilityAuthorizer, NO_CAPABILITIES } from './http/authorizer.ts'
export { checkListen } from './http/check-listen.ts'
export { type IngressConfig, ingressSection, type ListenConfig, listenKeys } from './http/config.ts'
export { type EventSource, eventFrame, eventStream, type ServerEvent } from './http/event-stream.ts'
export { eventsRoute } from './http/events-route.ts'
export { CODINGS, type Coding, type Inflate, inlineInflate, openCoded, threadInflate } from './http/inflate.ts'
export { Ingress, type IngressOptions, type SiteHosts, type WorkLane } from './http/ingress.ts'
export { type ListenAddress, parseBindAddress } from './http/listen-address.ts'
export type { Listen, Listener, ListenerOptions } from './http/listener.ts'
export { type IngressRequest, type IngressResponse, isStream, type Peer } from './http/message.ts'
export { INGRESS_METRICS } from './http/metrics.ts'
export { serveNode } from './http/node-listener.ts'
export { type ApiTitle, openApi } from './http/openapi.ts'
export { type OpsSource, opsRoutes, type ReadyFields } from './http/ops-routes.ts'
export { empty, json, problem } from './http/reply.ts'
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
export {
  defineRoutes,
  type RequestContext,
  type RequestHead,
  type Route,
  type RouteRow,
  type RouteTable,
  route,
} from './http/route.ts'
export { renderRoutes } from './http/route-docs.ts'
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
export { RealProcess } from './process/real-process.ts'
export { keepHeapSmall } from './process/small-heap.ts'
export { createPlatform, openIsolated, openWorkers, type SharedMachine } from './real-platform.ts'
export { FILE_REPLACED, IDENTIFY_FILE, QUERY_SQLITE, type SqliteRow } from './sqlite/query-sqlite.ts'
export { RealThread } from './workers/real-thread.ts'
export { runTask } from './workers/run-task.ts'
export { openReply } from './workers/thread-reply.ts'
export { type Thread, type ThreadRequest, WorkerPool, type WorkerPoolOptions } from './workers/worker-pool.ts'
export type { WorkerOptions, Workers, WorkerTask } from './workers/workers.ts'
