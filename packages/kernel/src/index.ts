export { Broadcast, type BroadcastOptions, Subscription } from './channel/broadcast.ts'
export type { HearResult } from './channel/broadcast-core.ts'
export { Queue, type QueueOptions, type ReceiveOptions } from './channel/queue.ts'
export type { Lane, Overflow, ReceiveResult, SendResult, Take } from './channel/queue-core.ts'
export { canceled, throwIfCanceled, type Waiter, Waiters, type WaitOptions, waitIn } from './channel/waiters.ts'
export { Watch, type Watching, type WatchSnapshot } from './channel/watch.ts'
export { type Clock, SystemClock, sleep, type Timer } from './clock.ts'
export { CairnError, ERRORS, type ErrorKind, type ErrorOptions, type ErrorRow, isKind, toCairnError } from './errors.ts'
export { Bus, type BusEvent, type EventBus, type KeptRange, type KernelEvents } from './observe/bus.ts'
export { Config, type ConfigSnapshot } from './observe/config.ts'
export { type Condition, Health, type Readiness } from './observe/health.ts'
export { type LiveFacts, type LiveKind, LiveTopology } from './observe/live.ts'
export { type Log, type LogFields, type LogLine, MemoryLog, RepeatedWarning } from './observe/log.ts'
export {
  checkMetricUse,
  KERNEL_METRICS,
  type Labels,
  MemoryMetrics,
  type MetricRow,
  type Metrics,
  type MetricTable,
} from './observe/metrics.ts'
export { table } from './observe/render.ts'
export { defineTopology, openBroadcast, openQueue } from './observe/topology.ts'
export { type Backoff, RETRY, type RetryPolicy } from './policy/backoff.ts'
export { BREAKER_QUEUE, Breakers, breakerJanitor } from './policy/breaker.ts'
export { BREAKER_DEFAULT, type BreakerPolicy } from './policy/breaker-core.ts'
export { Cancel, type CancelOptions } from './policy/cancel.ts'
export { Deadline, type DeadlineHeaders, parseBudget, timedOut } from './policy/deadline.ts'
export { GenerationCache } from './policy/generation-cache.ts'
export { type HedgeLeg, type HedgeOptions, type HedgeResult, hedge } from './policy/hedge.ts'
export { type RetryOptions, retry } from './policy/retry.ts'
export { type Permit, Semaphore } from './policy/semaphore.ts'
export { TokenBucket } from './policy/token-bucket.ts'
export type { BucketShape } from './policy/token-bucket-core.ts'
export { type Random, SystemRandom } from './random.ts'
export { type Runtime, systemRuntime } from './runtime.ts'
export { Closeable } from './task/closeable.ts'
export { Job, type JobHandler, type JobOptions, serveJobs, submit } from './task/job.ts'
export { Owned, type OwnedSnapshot } from './task/owned.ts'
export { Scope, type Task } from './task/scope.ts'
export { Shutdown } from './task/shutdown.ts'
export type { Phase } from './task/shutdown-core.ts'
export {
  type StopReport,
  Supervisor,
  type SupervisorOptions,
  type TaskBody,
  type TaskContext,
} from './task/supervisor.ts'
export type { Exit } from './task/supervisor-core.ts'
