/**
 * One machine of the cluster with a node on it: the real `CairnNode`, its configuration, its data directory and its keys,
 * on the virtual platform.
 *
 *     down ── start ──▶ starting ──▶ up ── stop ──▶ stopping ──▶ down
 *       ▲                  │          │                │
 *       └── power cut, kill, a start that failed ──────┘        at any time; `settled` hears of it
 */

import { INGRESS_METRICS } from '@cairn/http'
import { KERNEL_METRICS, type MetricTable } from '@cairn/kernel'
import { PROCESS_METRICS, readSmallFile, reloadMetrics, replaceSmallFile } from '@cairn/platform'
import { inlineInflate } from '@cairn/platform/testing'
import type { StartFlags } from '../../node/src/flags.ts'
import type { NodeMachine, ServiceMachine } from '../../node/src/machine.ts'
import type { CairnNode } from '../../node/src/node.ts'
import { openNodeOn, openStore } from '../../node/src/open.ts'
import { SERVICES } from '../../node/src/services.ts'
import type { VirtualMachine, VirtualPlatform } from '../virtual/machine.ts'
import { virtualListen } from '../virtual/network/virtual-listen.ts'
import type { VirtualWorld } from '../virtual/world.ts'
import { CONFIG_FILE, DATA, toToml, WRITER } from './settings.ts'
import type { Settings } from './workload.ts'

type State =
  | { readonly tag: 'down' }
  | { readonly tag: 'starting' }
  | { readonly tag: 'up'; readonly node: CairnNode }
  | { readonly tag: 'stopping'; readonly node: CairnNode }

export interface SimNodeOptions {
  readonly name: string
  readonly settings: Settings
  readonly files: Readonly<Record<string, Uint8Array>>
  readonly rootKey: string
}

export class SimNode {
  readonly name: string
  readonly machine: VirtualMachine
  readonly #options: SimNodeOptions
  #settings: Settings
  #state: State = { tag: 'down' }
  /** Platforms of the life that runs, the node's own first. */
  #platforms: VirtualPlatform[] = []
  #why: string | undefined

  constructor(world: VirtualWorld, options: SimNodeOptions) {
    this.name = options.name
    this.machine = world.machine(options.name, { device: options.name })
    this.#options = options
    this.#settings = options.settings
  }

  /** `down` as soon as the machine is, whatever was under way. */
  get state(): State['tag'] {
    return this.machine.isUp ? this.#state.tag : 'down'
  }

  /** Everything it runs; nothing when it is down. */
  get platforms(): readonly VirtualPlatform[] {
    return this.machine.isUp ? this.#platforms : []
  }

  /** Why the last start failed, if it did. */
  get why(): string | undefined {
    return this.#why
  }

  /** A service of it has a task that failed too often. */
  get hasFailed(): boolean {
    return this.state === 'up' && this.#state.tag === 'up' && this.#state.node.hasFailed
  }

  /** As the configuration file says, or will at the next start. */
  get settings(): Settings {
    return this.#settings
  }

  /** Before anybody changed them. */
  get ownSettings(): Settings {
    return this.#options.settings
  }

  /** What it waits for before it is ready, service by service. */
  async missing(): Promise<readonly string[]> {
    if (this.state !== 'up' || this.#state.tag !== 'up') return [`it is ${this.state}`]
    const { services } = await this.#state.node.status()
    return services.flatMap(({ name, missing }) => missing.map((each) => `${name} ${each}`))
  }

  /** Begins a life. Says why it did not come up, or that the machine went down meanwhile; nothing if it is up. */
  async start(): Promise<string | undefined> {
    if (this.state !== 'down') return undefined
    this.#state = { tag: 'starting' }
    const platform = this.machine.start({
      metrics: metricsOf('node', PROCESS_METRICS),
      environment: this.#environment(),
    })
    const { lives } = this.machine
    this.#platforms = [platform]
    const started = await this.#outlive(this.#open(platform))
    this.#why = started.tag === 'done' ? undefined : started.why
    if (started.tag === 'done') this.#state = { tag: 'up', node: started.value }
    else if (this.machine.lives === lives) this.machine.kill()
    return this.#why
  }

  /** Drains and ends. Says what had to be aborted and what was left; nothing if the machine went down meanwhile. */
  async stop(): Promise<readonly string[]> {
    if (this.state !== 'up' || this.#state.tag !== 'up') return []
    const { node } = this.#state
    const [platform] = this.#platforms
    const { lives } = this.machine
    this.#state = { tag: 'stopping', node }
    const stopped = node.stop().then(async (report) => {
      await platform?.workers.close()
      return report
    })
    const ended = await this.#outlive(stopped)
    if (!this.machine.isUp || this.machine.lives !== lives) return []
    const left = this.machine.leaks()
    this.machine.kill()
    if (ended.tag === 'down') return [ended.why]
    // With so small a budget a repair may take longer than a drain; it is planned again.
    const aborted = ended.value.aborted.filter((name) => !/^repair-worker-\d+$/.test(name))
    return [...aborted, ...ended.value.abandoned, ...left]
  }

  /** Changes the configuration file and says so to the process; one that is not up reads it at its next start. */
  async reload(settings: Settings): Promise<void> {
    this.#settings = settings
    const [platform] = this.#platforms
    if (this.#state.tag !== 'up' || !this.machine.isUp || platform === undefined) return
    const { node } = this.#state
    await this.#outlive(replaceSmallFile(platform.disk, CONFIG_FILE, Buffer.from(toToml(settings))))
    node.requestReload('signal')
  }

  async #open(platform: VirtualPlatform): Promise<CairnNode> {
    const { disk } = platform
    const files = { ...this.#options.files, [CONFIG_FILE]: Buffer.from(toToml(this.#settings)) }
    for (const [path, bytes] of Object.entries(files)) {
      const there = await readSmallFile(disk, path)
      if (there === undefined || Buffer.compare(there, bytes) !== 0) await replaceSmallFile(disk, path, bytes)
    }
    const modules = SERVICES.filter(({ name }) => name !== 'registry' || this.name === WRITER)
    const flags: StartFlags = {
      dataPath: DATA,
      amnesia: false,
      configFile: { path: CONFIG_FILE, required: true },
      modules,
      parts: undefined,
      keys: [],
    }
    const environment = this.#environment()
    const store = await openStore(flags, { environment, services: SERVICES, disk })
    const node = await openNodeOn(this.#machineOf(platform), { flags, environment, store })
    await node.start(modules)
    return node
  }

  #machineOf(platform: VirtualPlatform): NodeMachine {
    const around = (own: VirtualPlatform): ServiceMachine => ({
      platform: own,
      metricsText: async () => await Promise.resolve(''),
      listen: virtualListen(own),
      inflate: inlineInflate,
      outside: own.transport,
    })
    return {
      log: { setLevel: () => undefined },
      node: around(platform),
      service: (name, metrics) => {
        const own = platform.part(metricsOf(name, metrics))
        this.#platforms.push(own)
        return around(own)
      },
      readOperatorFile: async (path) => await readSmallFile(platform.disk, path),
    }
  }

  #environment(): Readonly<Record<string, string>> {
    // The registry's record of what it has signed lies there, outside of the data directory.
    return { CAIRN_ROOT_KEY: this.#options.rootKey, CAIRN_STATE: 'state' }
  }

  /** What the work comes to, unless the machine goes down first: then it never comes to anything. */
  async #outlive<T>(work: Promise<T>): Promise<{ tag: 'done'; value: T } | { tag: 'down'; why: string }> {
    const { promise, resolve } = Promise.withResolvers<{ tag: 'done'; value: T } | { tag: 'down'; why: string }>()
    work.then(
      (value) => resolve({ tag: 'done', value }),
      (error: unknown) => resolve({ tag: 'down', why: String(error) }),
    )
    this.machine.onceDown(() => resolve({ tag: 'down', why: 'the machine went down' }))
    return await promise
  }
}

function metricsOf(name: string, table: MetricTable): MetricTable {
  return { ...KERNEL_METRICS, ...INGRESS_METRICS, ...reloadMetrics(name), ...table }
}
