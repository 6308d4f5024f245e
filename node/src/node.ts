/**
 * One process with all its services.
 *
 *     configuration ─▶ log ─▶ data directory ─▶ keys ─▶ services ─▶ the node's own port ─▶ probe ─▶ ready
 *
 *     stop: edge, interop ─▶ index ─▶ registry ─▶ storage: all refuse clients at once, and each serves those in front of it
 *           until they are done; then ports, files, threads, log
 */

import {
  capabilityAuthorizer,
  type RunningService,
  runService,
  type ServiceConfig,
  type ServiceHost,
  type ServiceModule,
  type StartedService,
} from '@cairn/http'
import { Bus, CairnError, type LiveTopology, openQueue, type Queue, type StopReport, sleep, Watch } from '@cairn/kernel'
import {
  type ConfigRow,
  type ConfigSchemas,
  type ConfigStore,
  type DataDirectory,
  type ReloadOutcome,
  type ReloadSource,
  readSmallFile,
} from '@cairn/platform'
import type { Audience, Scope } from '@cairn/wire'
import type { ApiDocument, ApiService } from './api-page.ts'
import { BackupLocks } from './backup-locks.ts'
import type { NodeConfig } from './config.ts'
import { LiveFeed, type NodeNow, queuesOf } from './console/live.ts'
import { ConsolePage } from './console/page.ts'
import type { ConsoleParts } from './console/routes.ts'
import { ConsoleSessions } from './console/sessions.ts'
import { TrafficHistory } from './console/traffic.ts'
import type { NodeMachine } from './machine.ts'
import { type NodeControl, type NodeStatus, nodeRoutes } from './routes.ts'
import {
  type Called,
  calledBy,
  isCalled,
  openServiceClients,
  type ServiceAccess,
  type Stoppable,
  stopTogether,
} from './service-clients.ts'
import { ServiceEndpoints } from './service-endpoints.ts'
import { probe, serviceStatus } from './service-status.ts'
import type { TokenKeys } from './token-keys.ts'
import { NODE_ABOUT, NODE_TOPOLOGY } from './topology.ts'
import { VERSION } from './version.ts'

/** What `open.ts` has made ready. */
export interface NodeParts {
  readonly machine: NodeMachine
  readonly store: ConfigStore<ConfigSchemas>
  readonly data: DataDirectory
  readonly keys: TokenKeys
  readonly amnesia: boolean
}

interface Started extends StartedService<ServiceConfig> {
  readonly name: string
  readonly topology: LiveTopology
}

export class CairnNode implements NodeControl {
  readonly keys: TokenKeys
  readonly #parts: NodeParts
  readonly #services: Started[] = []
  /** How services of this node call each other. */
  readonly #accesses: ServiceAccess[] = []
  readonly #endpoints: ServiceEndpoints
  readonly backupLocks: BackupLocks
  readonly console: ConsoleParts
  readonly #traffic = new TrafficHistory()
  readonly #stopOrder = new Watch<'none' | 'drain' | 'abort'>('none')
  readonly #reloads: Queue<ReloadSource>
  /** Only what every service says about itself. */
  readonly #events: Bus<unknown>
  #own: RunningService<ServiceConfig> | undefined
  #fatal = false

  constructor(parts: NodeParts) {
    this.#parts = parts
    this.keys = parts.keys
    const { platform } = parts.machine.node
    this.#reloads = openQueue(platform, NODE_TOPOLOGY, 'reloads')
    this.#events = new Bus(platform, NODE_TOPOLOGY)
    this.backupLocks = new BackupLocks(platform.clock)
    this.#endpoints = new ServiceEndpoints({
      platform,
      here: (name) => this.#services.find((service) => service.name === name)?.running,
      nodeConfig: () => this.#config(),
      listenConfig: (name) => parts.store.config(name).current as ServiceConfig,
    })
    const { clock, random } = platform
    const page = new ConsolePage()
    this.console = {
      page,
      sessions: new ConsoleSessions({ clock, random, keys: parts.keys, onCode: () => page.prepare() }),
      live: new LiveFeed({
        clock,
        now: async () => await this.#now(),
        buses: () => this.#running().flatMap(({ running: { events } }) => (events === undefined ? [] : [events])),
      }),
      url: () => this.consoleUrl(),
      target: (name) => {
        const here = this.#running().find((service) => service.name === name)
        if (here !== undefined) return { ingress: here.running.ingress }
        return { remote: isCalled(name) ? this.#endpoints.endpointFor(name) : undefined }
      },
    }
  }

  /** Starts every service, then the node's own port, and asks each of them; whatever fails, nothing keeps running. */
  async start(modules: readonly ServiceModule[]): Promise<void> {
    try {
      for (const module of modules) this.#services.push(await this.#startService(module))
      this.#own = await this.#startOwn()
      for (const { name, url } of this.#entryPoints()) await this.#probe(name, url)
      await this.adminToken()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Resolves when somebody has asked the node to stop. */
  async stopRequested(): Promise<void> {
    await this.#stopOrder.until((order) => order !== 'none')
  }

  /** Asked once it drains; asked again it aborts. */
  requestStop(): void {
    if (this.#stopOrder.value === 'none') {
      this.#stopOrder.set('drain')
      return
    }
    this.#stopOrder.set('abort')
    for (const { running } of this.#services) running.abort()
    this.#own?.abort()
  }

  requestReload(source: ReloadSource): void {
    this.#reloads.trySend(source)
  }

  /** True once a task of any service has failed too often. */
  get hasFailed(): boolean {
    return this.#fatal
  }

  /** True once somebody did not wait for the drain. */
  get wasAborted(): boolean {
    return this.#stopOrder.value === 'abort'
  }

  /** Drains every service, from the outside in, and closes everything; says what had to be aborted. */
  async stop(): Promise<StopReport> {
    const reports = await stopTogether(this.#stoppable())
    for (const access of this.#accesses) access.close()
    await this.#endpoints.close()
    this.#reloads.abort()
    this.#events.close()
    await this.#parts.data.close()
    return {
      aborted: reports.flatMap(({ aborted }) => aborted),
      abandoned: reports.flatMap(({ abandoned }) => abandoned),
    }
  }

  async status(): Promise<NodeStatus> {
    const { machine, data, amnesia } = this.#parts
    const { clock, process } = machine.node.platform
    const services = await Promise.all(this.#services.map(async (service) => await serviceStatus(service, clock)))
    const ready = services.every((service) => service.ready)
    const common = { version: VERSION, pid: process.pid, uptime_ms: Math.round(clock.now()), ready, services }
    const elsewhere = this.#endpoints.elsewhere().map(({ name, url, state }) => ({ name, url, ...state }))
    return { ...common, elsewhere, urls: this.#own?.urls ?? [], data: data.path, kept: !amnesia }
  }

  /** Where people open the console. */
  consoleUrl(): string {
    const url = this.#own?.urls.find((place) => place.startsWith('http')) ?? ''
    return `${url.replace(/\/\/(?:127\.0\.0\.1|\[::1\]|0\.0\.0\.0|\[::\])(?=:|$)/, '//localhost')}/`
  }

  async reload(): Promise<ReloadOutcome> {
    return await this.#reload('admin')
  }

  config(): ConfigRow[] {
    return this.#parts.store.print()
  }

  api(): readonly ApiService[] {
    return this.#running().map(({ name, running: { ingress, urls } }) => {
      return {
        name,
        document: JSON.parse(ingress.apiText()) as ApiDocument,
        url: urls.find((url) => url.startsWith('http')),
      }
    })
  }

  async rotateKeys(): Promise<string> {
    const { data } = this.#parts
    const kid = await this.keys.rotate()
    await data.exclusively(async () => await data.writeAdminToken(this.keys.adminBundle()))
    return kid
  }

  /** Writes `admin.token` unless one is there; returns it. */
  async adminToken(): Promise<string> {
    const { machine, data } = this.#parts
    return await data.exclusively(async () => {
      const there = await readSmallFile(machine.node.platform.disk, `${data.path}/admin.token`)
      if (there !== undefined) return Buffer.from(there).toString('utf8').trim()
      const bundle = this.keys.adminBundle()
      await data.writeAdminToken(bundle)
      return bundle
    })
  }

  /** Every service of this process, and the node itself. */
  #running(): { readonly name: string; readonly running: RunningService<ServiceConfig> }[] {
    return [...this.#services, ...(this.#own === undefined ? [] : [{ name: 'node', running: this.#own }])]
  }

  async #now(): Promise<NodeNow> {
    const { clock } = this.#parts.machine.node.platform
    const { uptime_ms: uptimeMs, ...status } = await this.status()
    // To the second: two readings of two clocks are never the same.
    const startedAt = Math.round((clock.wall() - uptimeMs) / 1000) * 1000
    const queues = this.#services.flatMap(({ name, topology }) => queuesOf(name, topology))
    return { status, started_at: startedAt, queues, traffic: this.#traffic.report() }
  }

  async #probe(service: string, url: string): Promise<void> {
    const { platform } = this.#parts.machine.node
    const said = await probe(platform, url)
    if (said !== undefined) platform.log.warn({ started: service, said }, 'started, and not ready')
  }

  async #reload(source: ReloadSource): Promise<ReloadOutcome> {
    const { machine, store } = this.#parts
    const outcome = await store.reload(source)
    // The one live key that belongs to no listener: the log is shared by every service.
    machine.log.setLevel(this.#config().log.level)
    return outcome
  }

  #config(): NodeConfig {
    return this.#parts.store.config('node').current as NodeConfig
  }

  async #startService(module: ServiceModule): Promise<Started> {
    const { machine, store, data, amnesia } = this.#parts
    const { platform, outside, ...own } = machine.service(module.name, module.metrics)
    const access = this.#openClients(module.name, platform)
    const amnesiaBytes = amnesia ? this.#config().amnesia_bytes : undefined
    // With its type, since a service without one takes a lock of its own and no backup would hold it off.
    const lock: Required<Pick<ServiceHost<never>, 'maintenanceLock'>> = {
      maintenanceLock: this.backupLocks.maintenanceLockOf(module.name),
    }
    const host = {
      ...lock,
      // Each of them has its own word for it.
      ...(outside === undefined ? {} : { outside, egress: outside, transport: outside }),
      ...access?.clients,
      ...(access === undefined ? {} : { breakers: access.breakers }),
      readyFields: () => this.#remoteServiceFields(module.name),
      amnesia,
      amnesiaBytes,
      identitySeed: data.secret('node-identity'),
      readRoots: async (path: string) => await machine.readOperatorFile(path),
      selfUrls: () => this.#storageUrls(),
      ...own,
      platform,
      config: store.config(module.name) as never,
      authorizer: capabilityAuthorizer(platform.clock, () => this.keys.verifier(module.name)),
      directory: `${data.path}/${module.name}`,
      version: { service: module.name, version: VERSION },
      about: module.about,
      onFatal: () => {
        this.#fatal = true
      },
    }
    const started = await startNamed(module, host)
    this.#follow(module.name, started.running, platform)
    return { name: module.name, topology: platform.topology, ...started }
  }

  /** Nothing for a service that calls no other. */
  #openClients(name: Audience, platform: NodeMachine['node']['platform']): ServiceAccess | undefined {
    if (calledBy(name).length === 0) return undefined
    const endpointFor = (called: Called) => this.#endpoints.endpointFor(called)
    const tokenFor = (audience: Audience, scopes: readonly Scope[]) => this.keys.ownToken(audience, scopes)
    const access = openServiceClients(platform, name, { endpointFor: endpointFor, tokenFor })
    this.#accesses.push(access)
    return access
  }

  /** What `/readyz` of a service says about those it calls: without them it does less, and somebody must hear why. */
  #remoteServiceFields(name: Audience): Readonly<Record<string, unknown>> {
    const states = calledBy(name).map((called) => [called, this.#endpoints.state(called)] as const)
    const degraded = states.every(([, { ready }]) => ready) ? {} : { degraded: true }
    return states.length === 0 ? {} : { ...degraded, neighbours: Object.fromEntries(states) }
  }

  /** Where others fetch from this node. */
  #storageUrls(): readonly string[] {
    const here = this.#services.find(({ name }) => name === 'storage')?.running.urls
    if (here !== undefined) return here
    const url = this.#endpoints.urlOf('storage')
    return url === undefined ? [] : [url.origin]
  }

  /** The port of the node itself, and the socket in the data directory that the command line uses. */
  async #startOwn(): Promise<RunningService<ServiceConfig>> {
    const { machine, store } = this.#parts
    const { platform, outside: _outside, ...own } = machine.node
    const running = await runService({
      ...own,
      runtime: platform,
      config: store.config('node') as never,
      authorizer: capabilityAuthorizer(platform.clock, () => this.keys.verifier('node')),
      conditions: [],
      bothLoopbacks: true,
      version: { service: 'node', version: VERSION },
      about: NODE_ABOUT,
      build: ({ supervisor }) => {
        supervisor.start('reloader', async ({ draining }) => {
          for (;;) {
            const next = await this.#reloads.recv({ signal: draining })
            if (next.tag === 'closed') return
            await this.#reload(next.item)
          }
        })
        supervisor.start('neighbour-watcher', async ({ draining }) => {
          for (;;) {
            await this.#endpoints.ask()
            await this.keys.follow()
            await this.backupLocks.expire()
            await sleep(platform.clock, NODE_TOPOLOGY.timeouts.watch.ms, { signal: draining })
          }
        })
        supervisor.start('traffic-watcher', async ({ draining }) => {
          for (;;) {
            for (const {
              name,
              running: { ingress },
            } of this.#running())
              this.#traffic.look(name, ingress.traffic)
            await sleep(platform.clock, NODE_TOPOLOGY.timeouts.traffic.ms, { signal: draining })
          }
        })
        const events = this.#events
        return { routes: nodeRoutes(this, platform.clock, events), events }
      },
      onFatal: () => {
        this.#fatal = true
        this.requestStop()
      },
    })
    this.#follow('node', running, platform)
    return running
  }

  #follow(
    name: string,
    running: RunningService<ServiceConfig>,
    { log, metrics }: NodeMachine['node']['platform'],
  ): void {
    const rebind = async (next: unknown) => await running.rebind(next as ServiceConfig)
    this.#parts.store.follow(name, { log, metrics, rebind })
  }

  #stoppable(): Stoppable[] {
    return this.#running().map(({ name, running }) => {
      const { drain_deadline: drainDeadlineMs } = this.#parts.store.config(name).current as ServiceConfig
      return { name, drainDeadlineMs, stop: async (together) => await running.stop(together) }
    })
  }

  #entryPoints(): { name: string; url: string }[] {
    const all = [...this.#services, { name: 'node', running: this.#own }]
    return all.flatMap(({ name, running }) => (running?.urls ?? []).map((url) => ({ name, url })))
  }
}

/** The same error, with the service whose address it is about. */
async function startNamed(module: ServiceModule, host: Parameters<ServiceModule['start']>[0]) {
  try {
    return await module.start(host)
  } catch (error) {
    if (!(error instanceof CairnError) || error.code !== 'insecure_public') throw error
    throw new CairnError(error.kind, `${module.name}: ${error.message}`, { code: error.code, cause: error })
  }
}
