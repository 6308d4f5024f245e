/** What a service is to the node that runs it. */
import type { Breakers, Config, MetricTable } from '@cairn/kernel'
import type { MaintenanceLock, Platform } from '@cairn/platform'
import type { Audience } from '@cairn/wire'
import type { z } from 'zod'
import type { Authorizer } from './authorizer.ts'
import type { RunningService, ServiceConfig } from './service.ts'

export interface ServiceHost<C> {
  /** The machine, with this service's own log, metrics and topology. */
  readonly platform: Platform
  readonly config: Config<C>
  readonly authorizer: Authorizer
  /** The service's own directory in the data directory; it may not exist yet. */
  readonly directory: string
  readonly version: Readonly<Record<string, unknown>>
  /** As the module says it. */
  readonly about?: string
  readonly metricsText: () => Promise<string>
  /** What the node adds to `/readyz`: how those are that the service calls. */
  readonly readyFields?: () => Readonly<Record<string, unknown>>
  /** Of the calls to those services, for `breakerJanitor`: the service runs the one task that writes them. */
  readonly breakers?: Breakers
  /** Turns between removing files of the service and copying them; the service makes its own where no backup runs. */
  readonly maintenanceLock?: MaintenanceLock
  readonly onFatal: (task: string, error: unknown) => void
}

export interface StartedService<C extends ServiceConfig> {
  readonly running: RunningService<C>
  /** One line for the banner: where its data is, how much there is, what it promises. */
  summary(): Promise<string>
}

/** What a service is checked with: this machine, and the directory it would have. */
export interface CheckHost<C> extends Pick<ServiceHost<C>, 'platform' | 'config' | 'directory'> {
  /** A file that the configuration names; nothing if there is none. */
  readonly readRoots: (path: string) => Promise<Uint8Array | undefined>
}

export interface ServiceModule<C extends ServiceConfig = ServiceConfig> {
  readonly name: Audience
  /** What it is for, in a sentence. */
  readonly about: string
  /** Its port is the node's port base plus this. */
  readonly portOffset: number
  readonly schema: z.ZodType<C>
  /** What it counts beside the kernel, the ingress and its reloads. */
  readonly metrics: MetricTable
  start(host: ServiceHost<C>): Promise<StartedService<C>>
  /** Throws what `start` would refuse of a configuration that is valid by itself, by the same functions; starts nothing. */
  check(host: CheckHost<C>): Promise<void>
}
