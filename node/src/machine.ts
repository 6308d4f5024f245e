/** The machine as the node and its services share it: one pool of threads, one way out, one log. */
import { readFile } from 'node:fs/promises'
import { INGRESS_METRICS, type Listen } from '@cairn/http'
import { KERNEL_METRICS, type MetricTable, type Runtime, SystemClock, systemRuntime } from '@cairn/kernel'
import {
  createPlatform,
  type Inflate,
  type LogLevel,
  LogOutput,
  nodeLookup,
  openIsolated,
  openWorkers,
  type Platform,
  PROCESS_METRICS,
  ProcessMetrics,
  PrometheusMetrics,
  reloadMetrics,
  type SharedResources,
  standardError,
  UndiciTransport,
} from '@cairn/platform'
import type { Transport } from '@cairn/transport'

/** A file the configuration names, from the machine itself: amnesia keeps what it writes in memory, and may read. */
async function readOperatorFile(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

export interface MachineOptions {
  readonly level: LogLevel
  readonly format: 'json' | 'text'
  /** Set for amnesia: each service's files live in this much memory. */
  readonly memoryBytes: number | undefined
}

/** A platform for one service, and what its `/metrics` says; in the simulator, also what takes the place of sockets. */
export interface ServiceMachine {
  readonly platform: Platform
  readonly metricsText: () => Promise<string>
  readonly listen?: Listen
  readonly inflate?: Inflate
  /** To hosts that strangers name. */
  readonly outside?: Transport
}

/** What a node runs on. */
export interface NodeMachine {
  readonly log: Pick<LogOutput, 'setLevel'>
  /** The node's own. */
  readonly node: ServiceMachine
  /** A platform with its own log, metrics, files and timers. */
  service(name: string, metrics: MetricTable): ServiceMachine
  /** A file that the configuration names; nothing if there is none. */
  readOperatorFile(path: string): Promise<Uint8Array | undefined>
}

export class Machine implements NodeMachine, AsyncDisposable {
  readonly log: LogOutput
  readonly node: ServiceMachine
  readonly #shared: SharedResources
  readonly #processMetrics: ProcessMetrics

  constructor({ level, format, memoryBytes }: MachineOptions) {
    this.log = new LogOutput({ destination: standardError(), format, level, clock: new SystemClock() })
    const { runtime, metrics } = this.#runtime('node', PROCESS_METRICS)
    const transport = new UndiciTransport(runtime)
    this.#shared = {
      workers: openWorkers(runtime),
      isolated: openIsolated(runtime),
      transport,
      lookup: nodeLookup,
      memoryBytes,
    }
    this.#processMetrics = new ProcessMetrics(runtime, metrics)
    this.node = this.#machine(runtime, metrics)
  }

  /** Threads and connections are shared. */
  service(name: string, metrics: MetricTable): ServiceMachine {
    const own = this.#runtime(name, metrics)
    return this.#machine(own.runtime, own.metrics)
  }

  async readOperatorFile(path: string): Promise<Uint8Array | undefined> {
    return await readOperatorFile(path)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#processMetrics.close()
    await this.#shared.workers.close()
    await this.#shared.isolated?.close()
    await this.#shared.transport.close()
    this.log.close()
  }

  #runtime(name: string, table: MetricTable): { runtime: Runtime; metrics: PrometheusMetrics } {
    const all = { ...KERNEL_METRICS, ...INGRESS_METRICS, ...reloadMetrics(name), ...table }
    const metrics = new PrometheusMetrics(name, all)
    const runtime = systemRuntime(this.log.service(name), metrics)
    metrics.readQueues(runtime.topology)
    return { runtime, metrics }
  }

  #machine(runtime: Runtime, metrics: PrometheusMetrics): ServiceMachine {
    return {
      platform: createPlatform(runtime, this.#shared),
      metricsText: async () => await metrics.exposition(),
    }
  }
}
