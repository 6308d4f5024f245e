/**
 * A service from start to stop: what every `main.ts` has in common.
 *
 *     build ─▶ tasks start ─▶ listeners open ─▶ running
 *
 *     stop ─▶ /readyz false, new requests 503 ─▶ services in front are done ─▶ accepted requests end
 *          ─▶ intake queues close ─▶ workers end ─▶ lame duck is over ─▶ listeners close ─▶ resources close
 *                                                       (at the drain deadline: abort, count, go on)
 */

import {
  type Breakers,
  type BusEvent,
  type Config,
  type EventBus,
  Health,
  type Job,
  type KernelEvents,
  type MetricTable,
  type Queue,
  type Runtime,
  type StopReport,
  Supervisor,
  serveJobs,
  sleep,
  submit,
  type TaskContext,
  toCairnError,
} from '@cairn/kernel'
import type { MaintenanceLock, Platform, Rebinding } from '@cairn/platform'
import type { IngressResponse } from '@cairn/transport'
import type { Audience } from '@cairn/wire'
import type { z } from 'zod'
import type { Listen } from '../connection/listener.ts'
import { boundHosts, Listeners, listenSpecs } from '../connection/listeners.ts'
import { serveNode } from '../connection/node-listener.ts'
import type { Authorizer } from './authorizer.ts'
import type { IngressConfig, ListenConfig } from './config.ts'
import { Ingress, type IngressOptions, type WorkLane } from './ingress.ts'
import type { ReadyFields } from './ops-routes.ts'

// What a service is to the node that runs it.

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

/** The part of a service's configuration that is the same in all of them. */
export interface ServiceConfig extends ListenConfig {
  readonly ingress: IngressConfig
  /** Milliseconds. */
  readonly drain_deadline: number
}

/** A queue that requests fill: closed when none can any more, emptied when no worker will serve it. */
export interface WorkIntake {
  close(): void
  abort(): number
}

/** What a service brings: its routes, and what has to be closed after them. */
export interface ServiceParts
  extends Pick<IngressOptions, 'routes' | 'work' | 'codes' | 'reasonHeader' | 'onProblem' | 'sites'> {
  readonly intake?: readonly WorkIntake[]
  /** Where the service says what becomes of it; `eventsRoute` hands it on. */
  readonly events?: EventBus
  /** More for `/readyz`. */
  readonly readyFields?: IngressOptions['ops']['readyFields']
  /** Runs last. */
  readonly close?: () => Promise<void>
}

export interface ServiceOptions<C extends ServiceConfig>
  extends Pick<IngressOptions, 'authorizer' | 'inflate' | 'about'> {
  readonly runtime: Runtime
  readonly config: Config<C>
  /** Readiness conditions of the service; `listener_bound` is added. */
  readonly conditions: readonly string[]
  readonly version: Readonly<Record<string, unknown>>
  readonly metricsText: () => string | Promise<string>
  /** What the process adds to the service's `/readyz`. */
  readonly readyFields?: () => ReadyFields
  /** Starts the service's tasks on the supervisor and returns its parts. */
  readonly build: (host: {
    readonly supervisor: Supervisor
    readonly health: Health
  }) => ServiceParts | Promise<ServiceParts>
  /** A task failed too often; the service stops by itself. */
  readonly onFatal?: (task: string, error: unknown) => void
  readonly listen?: Listen
  /** People open it as `localhost`. */
  readonly bothLoopbacks?: boolean
}

export interface RunningService<C extends ServiceConfig> {
  readonly health: Health
  readonly ingress: Ingress
  readonly urls: readonly string[]
  /** What `/events` hands on. */
  readonly events?: EventBus | undefined
  /** For `ConfigStore.follow`. */
  rebind(next: C): Promise<Rebinding>
  /** Drains and closes; every call returns the outcome of the first. */
  stop(together?: StopTogether): Promise<StopReport>
  /** The second signal. */
  abort(): void
}

/** How a service stops among others of its process. */
export interface StopTogether {
  /** Services in front that stop at the same time: each is served until its promise settles. */
  readonly dependents: ReadonlyMap<string, Promise<unknown>>
  /** The latest deadline of any of them: it holds for this one as well. */
  readonly drainDeadlineMs: number
  /** All tasks have ended: nothing of this service calls another any more. */
  readonly onDrained: () => void
}

/** Starts the service; throws, with nothing left behind, if a part or a listener cannot be opened. */
export async function runService<C extends ServiceConfig>(options: ServiceOptions<C>): Promise<RunningService<C>> {
  const { runtime, config } = options
  let service: Service<C> | undefined
  const health = new Health([...options.conditions, LISTENER_BOUND], ({ ready: ok, missing }) =>
    service?.announce((name) => ({ topic: 'kernel.health', body: { service: name, ok, missing } })),
  )
  const supervisor = new Supervisor(runtime, {
    drainDeadlineMs: config.current.drain_deadline,
    onCrash: (task) => service?.announce((name) => ({ topic: 'kernel.crash', body: { service: name, task } })),
    onFatal: (task, error) => {
      health.fail(task, toCairnError(error).message)
      options.onFatal?.(task, error)
      service?.stop().catch((failure: unknown) => runtime.log.error({ error: failure }, 'service did not stop cleanly'))
    },
  })
  try {
    const parts = await options.build({ supervisor, health })
    service = new Service(options, supervisor, health, parts)
    await service.open()
    return service
  } catch (error) {
    await (service ?? supervisor).stop()
    throw error
  }
}

const LISTENER_BOUND = 'listener_bound'

const ALONE: StopTogether = { dependents: new Map(), drainDeadlineMs: 0, onDrained: () => {} }

class Service<C extends ServiceConfig> implements RunningService<C> {
  readonly health: Health
  readonly ingress: Ingress
  readonly #options: ServiceOptions<C>
  readonly #supervisor: Supervisor
  readonly #parts: ServiceParts
  readonly #listeners: Listeners
  /** Hosts that are ours because we listen on them. */
  #boundHosts: readonly string[] = []
  #stopping: Promise<StopReport> | undefined
  /** Clients may have been sent here; a service that could not open all of its listeners closes at once. */
  #hasOpened = false
  /** The second signal. */
  readonly #impatient = new AbortController()

  constructor(options: ServiceOptions<C>, supervisor: Supervisor, health: Health, parts: ServiceParts) {
    const { runtime, authorizer, inflate, about, version, config } = options
    const { routes, work, codes, reasonHeader, onProblem, sites } = parts
    const readyFields = (query: string) => ({ ...options.readyFields?.(), ...parts.readyFields?.(query) })
    this.#options = options
    this.#supervisor = supervisor
    this.#parts = parts
    this.health = health
    this.ingress = new Ingress({
      runtime,
      shutdown: supervisor.shutdown,
      routes,
      authorizer,
      config: config.current.ingress,
      ops: { health, version, metricsText: this.#metricsText, readyFields },
      ...given({ work, codes, reasonHeader, onProblem, sites, inflate, about }),
    })
    const { bothLoopbacks = false } = options
    const shared = { runtime, ingress: this.ingress, config: config.current.ingress, bothLoopbacks }
    this.#listeners = new Listeners(options.listen ?? serveNode, shared)
    supervisor.start('listener', this.#listen)
    supervisor.start('config-reloader', this.#followConfig)
  }

  get urls(): readonly string[] {
    return this.#listeners.urls
  }

  get events(): EventBus | undefined {
    return this.#parts.events
  }

  async open(): Promise<void> {
    const rebinding = await this.rebind(this.#options.config.current)
    await rebinding.finish()
    this.health.meet(LISTENER_BOUND)
    this.#hasOpened = true
  }

  async rebind(next: C): Promise<Rebinding> {
    const specs = await listenSpecs(next)
    const [before, after] = [this.#boundHosts, boundHosts(specs)]
    // While both are open, the hosts of both are ours.
    this.#bindHosts([...before, ...after])
    try {
      const rebinding = await this.#listeners.rebind(specs, next.drain_deadline)
      return {
        finish: async () => {
          await rebinding.finish()
          this.#bindHosts(after)
        },
        rollBack: async () => {
          await rebinding.rollBack()
          this.#bindHosts(before)
        },
      }
    } catch (error) {
      this.#bindHosts(before)
      throw error
    }
  }

  async stop(together?: StopTogether): Promise<StopReport> {
    this.#stopping ??= this.#stop(together)
    return await this.#stopping
  }

  abort(): void {
    this.#supervisor.abort()
    this.#impatient.abort()
  }

  /** Publishes what becomes of the service; does nothing for one without an event bus. */
  announce(event: (service: string) => BusEvent<KernelEvents>): void {
    const { events } = this.#parts
    events?.publish(event(events.service))
  }

  async #stop({ dependents, drainDeadlineMs, onDrained }: StopTogether = ALONE): Promise<StopReport> {
    const { clock } = this.#options.runtime
    const { shutdown } = this.#supervisor
    // Read now: the configuration may be swapped while we wait.
    const portClosesAt = clock.now() + (this.#hasOpened ? this.#options.config.current.lame_duck : 0)
    this.announce((name) => ({ topic: 'kernel.shutdown', body: { service: name } }))
    for (const [name, done] of dependents) {
      shutdown.dependentStarted(name)
      const onDone = (): void => shutdown.dependentDone(name)
      done.then(onDone, onDone)
    }
    const report = await this.#supervisor.stop(drainDeadlineMs)
    for (const queue of this.#parts.intake ?? []) queue.abort()
    onDrained()
    await this.#lameDuck(portClosesAt - clock.now())
    await this.#listeners.close()
    await this.#parts.close?.()
    return report
  }

  /** The port stays open for the rest of this time, unless a second signal comes. */
  async #lameDuck(leftMs: number): Promise<void> {
    const { signal } = this.#impatient
    if (leftMs <= 0) return
    try {
      await sleep(this.#options.runtime.clock, leftMs, { signal })
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  readonly #listen = async (context: TaskContext): Promise<void> => {
    await this.ingress.run(context)
    for (const queue of this.#parts.intake ?? []) queue.close()
  }

  /** Live keys take effect here; certificates are read again, since a reload is how their renewal is announced. */
  readonly #followConfig = async ({ draining }: TaskContext): Promise<void> => {
    const { snapshot } = this.#options.config
    for (let seen = snapshot.version; ; ) {
      const { value, version } = await snapshot.changed(seen, { signal: draining })
      seen = version
      this.announce((name) => ({ topic: 'kernel.config.updated', body: { service: name, version } }))
      this.#listeners.reconfigure(value.values.ingress)
      this.#bindHosts(this.#boundHosts)
      try {
        this.#listeners.renewTls(await listenSpecs(value.values))
      } catch (error) {
        this.#options.runtime.log.error({ error: toCairnError(error).message }, 'certificate not renewed')
      }
    }
  }

  #bindHosts(hosts: readonly string[]): void {
    this.#boundHosts = hosts
    const { ingress } = this.#options.config.current
    const sites = this.#parts.sites?.hosts() ?? []
    this.ingress.reconfigure({ ...ingress, hosts: [...ingress.hosts, ...hosts, ...sites] })
  }

  readonly #metricsText = (): string | Promise<string> => {
    this.#options.runtime.metrics.set('open_connections', this.#listeners.openConnections)
    return this.#options.metricsText()
  }
}

/** Without the keys that have no value: an optional key is absent, not undefined. */
function given<T extends object>(optional: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(optional).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

// `work` routes through a service's queue: the listener submits, the service's workers run the handlers.

export type WorkItem = () => IngressResponse | Promise<IngressResponse>
export type WorkQueue = Queue<Job<WorkItem, IngressResponse>>

/** A full queue is `Busy` at once; time in the queue counts against the request's budget. */
export function queueLane(queue: WorkQueue): WorkLane {
  return async (context, run) => await submit(queue, run, { deadline: context.deadline, signal: context.signal })
}

/** The body of a worker of that queue. */
export async function serveWorkLane(queue: WorkQueue, context: TaskContext): Promise<void> {
  await serveJobs(queue, context, async (run) => await run())
}
