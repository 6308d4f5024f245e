/** The whole service in virtual time, asked through its ingress: no socket, no file, no thread. */
import assert from 'node:assert/strict'
import type { IndexClient, StorageClient } from '@cairn/clients'
import { Config, KERNEL_METRICS, type TaskBody } from '@cairn/kernel'
import {
  capabilityAuthorizer,
  INGRESS_METRICS,
  type IngressResponse,
  inlineInflate,
  isStream,
  MemoryDisk,
  MemoryKvOpener,
  type RunningService,
} from '@cairn/platform'
import { createKeyring, deriveKeyring, mintToken, type Scope } from '@cairn/wire'
import type { z } from 'zod'
import type { VirtualMachine, VirtualPlatform } from '../../../verify/virtual/machine.ts'
import { virtualListen } from '../../../verify/virtual/network/virtual-listen.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { type EdgeConfig, edgeSection } from '../src/config.ts'
import { runParts } from '../src/main.ts'
import { EDGE_METRICS } from '../src/metrics.ts'
import type { OpenPack } from '../src/packs/pack-source.ts'
import { type EdgeParts, openParts } from '../src/parts.ts'
import { FakeUpstream, type Upstream } from './fake-upstream.ts'

const METRICS = { ...KERNEL_METRICS, ...INGRESS_METRICS, ...EDGE_METRICS }
const RING = deriveKeyring(createKeyring('k1', new Uint8Array(32).fill(7)), 'edge')
const MEMORY_BYTES = 64 * 1024 * 1024

/** The header of somebody who may do this. */
export function allowed(...scopes: Scope[]): { readonly authorization: string } {
  const token = mintToken(RING, { tid: new Uint8Array(16).fill(8), aud: 'edge', scopes })
  return { authorization: `Bearer ${token}` }
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** What ended the body before its end; the client sees a broken connection. */
  readonly broken: unknown
  /** The code of a problem. */
  readonly code: string | undefined
  json(): Record<string, unknown>
}

export interface Asking {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly host?: string
  readonly signal?: AbortSignal
}

export interface EdgeOptions {
  readonly config?: z.input<typeof edgeSection>
  readonly upstream?: Upstream
  readonly storage?: StorageClient
  readonly index?: IndexClient
  readonly openPack?: OpenPack
  /** Files in memory, and no more of them than this. */
  readonly amnesiaBytes?: number
  readonly wrap?: (platform: VirtualPlatform) => VirtualPlatform
  readonly worker?: (body: TaskBody) => TaskBody
}

export const LIVE = {
  mode: 'live',
  allow: ['up.example'],
  routes: { up: 'https://up.example/base/' },
  ingress: { max_rps: 0 },
} as const satisfies z.input<typeof edgeSection>

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

export class TestEdge {
  readonly world: VirtualWorld
  readonly machine: VirtualMachine
  readonly platform: VirtualPlatform
  readonly config: Config<EdgeConfig>
  readonly parts: EdgeParts
  readonly running: RunningService<EdgeConfig>
  readonly upstream: FakeUpstream

  private constructor(
    world: VirtualWorld,
    machine: VirtualMachine,
    platform: VirtualPlatform,
    config: Config<EdgeConfig>,
    parts: EdgeParts,
    running: RunningService<EdgeConfig>,
    upstream: FakeUpstream,
  ) {
    this.world = world
    this.machine = machine
    this.platform = platform
    this.config = config
    this.parts = parts
    this.running = running
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
    const { config: input = LIVE, wrap = (platform) => platform, amnesiaBytes, storage, index, openPack } = options
    const fresh = machine.start({ metrics: METRICS })
    const platform = wrap(amnesiaBytes === undefined ? fresh : inMemory(fresh))
    const config = new Config<EdgeConfig>({ values: edgeSection.parse(input), origins: {} })
    const upstream = new FakeUpstream(platform, () => config.current.allow, options.upstream)
    const host = {
      platform,
      config,
      directory: 'data/edge',
      authorizer: capabilityAuthorizer(platform.clock, () => ({ keyring: RING, isRevoked: () => false })),
      version: { service: 'edge' },
      metricsText: async () => await Promise.resolve(''),
      onFatal: (task: string) => assert.fail(`${task} failed too often`),
      listen: virtualListen(platform),
      inflate: inlineInflate,
      transport: upstream,
      storage,
      index,
      openPack,
      amnesiaBytes,
    }
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
    return new TestEdge(world, machine, platform, config, parts, running, upstream)
  }

  /** Asks and lets time pass until the answer, body included, is here. */
  async get(target: string, headers: Readonly<Record<string, string>> = {}, asking: Asking = {}): Promise<Answer> {
    return await this.ask('GET', target, { ...asking, headers })
  }

  async ask(method: string, target: string, asking: Asking = {}): Promise<Answer> {
    return await this.world.run(this.send(method, target, asking))
  }

  /** Asks; somebody else lets time pass. */
  async send(method: string, target: string, asking: Asking = {}): Promise<Answer> {
    return await readAnswer(await this.begin(method, target, asking))
  }

  /** The answer with its body still to be read. */
  async begin(
    method: string,
    target: string,
    { headers = {}, body, signal, host = 'localhost' }: Asking = {},
  ): Promise<IngressResponse> {
    const fields: Record<string, string> = { host, ...headers }
    if (body !== undefined) fields['content-length'] = String(body.length)
    return await this.running.ingress.handle({
      method,
      target,
      headers: Object.entries(fields).flat(),
      body: body === undefined || body.length === 0 ? undefined : once(body),
      peer: { address: '127.0.0.1', kind: 'tcp' },
      door: 'service',
      crowded: false,
      signal: signal ?? new AbortController().signal,
    })
  }

  metric(name: string, labels: Readonly<Record<string, string>> = {}): number {
    return this.platform.metrics.value(name, labels)
  }

  async sleep(ms: number): Promise<void> {
    await this.world.run(this.world.sleep(ms))
  }

  /** Drains and closes, and checks that nothing is left. */
  async stop(): Promise<void> {
    await this.world.run(this.shutDown())
    assert.deepEqual(this.world.leaks(), [])
  }

  async shutDown(): Promise<void> {
    const report = await this.running.stop()
    assert.deepEqual(report, { aborted: [], abandoned: [] })
    await this.platform.workers.close()
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

function inMemory(platform: VirtualPlatform): VirtualPlatform {
  return { ...platform, disk: new MemoryDisk(platform, MEMORY_BYTES), kv: new MemoryKvOpener(platform) }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes)
}

async function readAnswer({ status, headers: fields, body, held }: IngressResponse): Promise<Answer> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]!.toLowerCase()
    assert.equal(headers[name], undefined, `${name} came twice`)
    headers[name] = fields[at + 1]!
  }
  const pieces: Buffer[] = []
  let broken: unknown
  try {
    if (isStream(body)) for await (const piece of body) pieces.push(Buffer.from(piece))
    else if (body !== undefined) pieces.push(Buffer.from(body as Uint8Array))
  } catch (error) {
    broken = error
  }
  held?.[Symbol.dispose]()
  const all = Buffer.concat(pieces)
  const json = (): Record<string, unknown> => JSON.parse(all.toString()) as Record<string, unknown>
  const isProblem = headers['content-type'] === 'application/problem+json' && all.length > 0
  return { status, headers, body: all, broken, json, code: isProblem ? String(json()['code']) : undefined }
}

/** Bytes that look random and are the same in every run. */
export function noise(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  let state = (0x9e37_79b9 ^ Math.imul(seed, 0x85eb_ca6b)) | 1
  for (let at = 0; at < length; at += 1) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes[at] = state
  }
  return bytes
}

export function isProblem(answer: Answer, status: number, code: string): void {
  assert.equal(`${answer.status} ${answer.code}`, `${status} ${code}`, answer.body.toString().slice(0, 300))
  assert.equal(answer.headers['x-reason'], code)
  if (status === 429 || status === 503) assert.match(answer.headers['retry-after'] ?? '', /^\d+$/)
}
