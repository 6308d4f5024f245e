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
export { type Crypto, type Sign, systemCrypto } from './crypto.ts'

export {
  type DataDirectory,
  type DataDirectoryOptions,
  makeRootKey,
  openDataDirectory,
  type RootKey,
  readSecret,
  stateDirectory,
  writeSecret,
} from './data/data-directory.ts'
export { MaintenanceLock } from './data/maintenance-lock.ts'

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
export { type Lookup, nodeLookup } from './egress/checked-connector.ts'

export { GuardedTransport, type GuardedTransportOptions } from './egress/guarded-transport.ts'
export { UndiciTransport } from './egress/undici-transport.ts'
export { type AddressClass, classifyAddress, UrlPolicy, type UrlPolicyOptions } from './egress/url-policy.ts'
export {
  type LogDestination,
  type LogFormat,
  type LogLevel,
  LogOutput,
  type LogOutputOptions,
  logSection,
  standardError,
} from './observe/log-output.ts'
export { PROCESS_METRICS, ProcessMetrics, PrometheusMetrics } from './observe/prometheus-metrics.ts'
export type { Platform } from './platform.ts'
export { type HostProcess, keepHeapSmall, openFilesLimit, RealProcess, type Signal } from './process/process.ts'

export { createPlatform, openIsolated, openWorkers, type SharedResources } from './real-platform.ts'
export { FILE_REPLACED, IDENTIFY_FILE, QUERY_SQLITE, type SqliteRow } from './sqlite/query-sqlite.ts'
export {
  CODINGS,
  type Coding,
  codingOf,
  decodedBytesMax,
  type Inflate,
  openCoded,
  refusalReason,
  threadInflate,
} from './workers/inflate.ts'
export type { WorkerOptions, WorkerPoolOptions, Workers, WorkerTask } from './workers/worker-pool.ts'
