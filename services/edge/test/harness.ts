/** The whole service in virtual time, asked through its ingress: no socket, no file, no thread. */
import assert from 'node:assert/strict'
import type { IndexClient, StorageClient } from '@cairn/clients'
import type { TaskBody } from '@cairn/kernel'
import type { Scope } from '@cairn/wire'
import type { z } from 'zod'
import { type Answer, isProblem as isAnyProblem } from '../../../verify/virtual/answer.ts'
import type { VirtualMachine } from '../../../verify/virtual/machine.ts'
import {
  type Asking,
  hostOf,
  type MachineOptions,
  type OpenService,
  startMachine,
  tokenOf,
  VirtualService,
} from '../../../verify/virtual/virtual-service.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { type EdgeConfig, edgeSection } from '../src/config.ts'
import { runParts } from '../src/main.ts'
import { EDGE_METRICS } from '../src/metrics.ts'
import type { OpenPack } from '../src/packs/open-pack.ts'
import { type EdgeParts, openParts } from '../src/parts.ts'
import { FakeUpstream, type Upstream } from './fake-upstream.ts'

/** The header of somebody who may do this. */
export function allowed(...scopes: Scope[]): { readonly authorization: string } {
  return { authorization: `Bearer ${tokenOf('edge', scopes)}` }
}

export interface EdgeOptions extends Pick<MachineOptions, 'wrap'> {
  readonly config?: z.input<typeof edgeSection>
  readonly upstream?: Upstream
  readonly storage?: StorageClient
  readonly index?: IndexClient
  readonly openPack?: OpenPack
  /** Files in memory, and no more of them than this. */
  readonly amnesiaBytes?: number
  readonly worker?: (body: TaskBody) => TaskBody
}

export const LIVE = {
  mode: 'live',
  allow: ['up.example'],
  routes: { up: 'https://up.example/base/' },
  ingress: { max_rps: 0 },
} as const satisfies z.input<typeof edgeSection>

/** The same, and a PUT is passed on. */
export const PASSING = {
  ...LIVE,
  routes: { up: { upstream: 'https://up.example/', pass_methods: ['PUT' as const] } },
}

export const UP_PATH = '/edge/assets/u/up/a'
export const FRESH = { 'cache-control': 'max-age=60' }

/** A service with this upstream, for as long as `work` takes; nothing may be left after it. */
export async function withEdge(
  upstream: Upstream,
  work: (edge: TestEdge) => Promise<void>,
  more: EdgeOptions = {},
): Promise<void> {
  const edge = await TestEdge.start({ upstream, ...more })
  await work(edge)
  await edge.stop()
}

export class TestEdge extends VirtualService<EdgeConfig, EdgeParts> {
  readonly upstream: FakeUpstream

  private constructor(open: OpenService<EdgeConfig, EdgeParts>, upstream: FakeUpstream) {
    super(open, null)
    this.upstream = upstream
  }

  static async start(
    options: EdgeOptions = {},
    world = new VirtualWorld(1),
    machine = world.machine('node'),
  ): Promise<TestEdge> {
    return await world.run(TestEdge.open(options, world, machine))
  }

  /** Like `start`, inside a scenario that lets the world's time pass itself. */
  static async open(options: EdgeOptions, world: VirtualWorld, machine: VirtualMachine): Promise<TestEdge> {
    const { config: input = LIVE, amnesiaBytes, storage, index, openPack } = options
    const disk = amnesiaBytes === undefined ? 'virtual' : 'memory'
    const platform = await startMachine(machine, EDGE_METRICS, { ...options, disk })
    const base = hostOf('edge', platform, edgeSection.parse(input))
    const upstream = new FakeUpstream(platform, () => base.config.current.allow, options.upstream)
    const host = { ...base, transport: upstream, storage, index, openPack, amnesiaBytes }
    const opened = await openParts(host)
    const worker = options.worker
    const fills =
      worker === undefined
        ? opened.fills
        : Object.assign(Object.create(opened.fills) as typeof opened.fills, { worker: worker(opened.fills.worker) })
    const parts = { ...opened, fills: worker === undefined ? opened.fills : bound(opened.fills, fills) }
    const { running } = await runParts(host, parts)
    await running.health.readiness.until(({ conditions }) =>
      ['listener_bound', 'cas_reachable', 'shedder_stable'].every((name) => conditions[name]?.ready === true),
    )
    return new TestEdge({ world, machine, ...base, parts, running }, upstream)
  }

  /** Asks and lets time pass until the answer, body included, is here. */
  async get(target: string, headers: Readonly<Record<string, string>> = {}, asking: Asking = {}): Promise<Answer> {
    return await this.ask('GET', target, { ...asking, headers })
  }
}

/** Private fields do not follow a prototype: everything but the worker is the real one's. */
function bound<T extends object>(real: T, changed: T): T {
  return new Proxy(real, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name === 'worker' ? changed : target, name, target)
      return typeof value === 'function' && name !== 'worker' ? (value.bind(target) as unknown) : value
    },
  })
}

export function isProblem(answer: Answer, status: number, code: string): void {
  isAnyProblem(answer, status, code)
  assert.equal(answer.headers['x-reason'], code)
}
