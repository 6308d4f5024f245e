import { type Clock, SystemClock, VirtualClock } from './clock.ts'
import { LiveTopology } from './observe/live.ts'
import { type Log, MemoryLog } from './observe/log.ts'
import { KERNEL_METRICS, MemoryMetrics, type Metrics, type MetricTable } from './observe/metrics.ts'
import { type Random, SeededRandom, SystemRandom } from './random.ts'

/** Every source of time, chance and observation a service has. Each service has one; nothing is global. */
export interface Runtime {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly metrics: Metrics
  /** What is alive in this service now. */
  readonly topology: LiveTopology
}

/** The machine's own clock and randomness, with the log and metrics of one service. */
export function systemRuntime(log: Log, metrics: Metrics): Runtime {
  return { clock: new SystemClock(), random: new SystemRandom(), log, metrics, topology: liveTopology(log) }
}

export interface VirtualRuntime extends Runtime {
  readonly clock: VirtualClock
  readonly log: MemoryLog
  readonly metrics: MemoryMetrics
}

/** A runtime whose every run with one seed is the same; for tests and the simulator. */
export function virtualRuntime(seed = 1, table: MetricTable = KERNEL_METRICS): VirtualRuntime {
  const log = new MemoryLog()
  return {
    clock: new VirtualClock(),
    random: new SeededRandom(seed),
    log,
    metrics: new MemoryMetrics(table),
    topology: liveTopology(log),
  }
}

function liveTopology(log: Log): LiveTopology {
  return new LiveTopology((resource) => log.debug({ resource }, 'dropped without close'))
}

/** What is still alive: entries of the topology and timers. Every test suite ends by asserting that this is empty. */
export function leaks(runtime: Runtime): string[] {
  const living = runtime.topology.snapshot().map(({ kind, name }) => `${kind} ${name}`)
  const timers = runtime.clock.pending()
  return timers === 0 ? living : [...living, `${timers} timers`]
}
