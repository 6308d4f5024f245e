/** The whole service in virtual time, asked through its ingress: no socket, no file, no thread. */
import assert from 'node:assert/strict'
import { Config, KERNEL_METRICS } from '@cairn/kernel'
import {
  capabilityAuthorizer,
  INGRESS_METRICS,
  type IngressResponse,
  inlineInflate,
  isStream,
  MemoryDisk,
  MemoryKvOpener,
  makeDirectories,
  type RunningService,
  type Transport,
} from '@cairn/platform'
import { createKeyring, deriveKeyring, mintAdminToken, mintToken, type Scope } from '@cairn/wire'
import type { z } from 'zod'
import type { VirtualMachine, VirtualPlatform } from '../../../verify/virtual/machine.ts'
import { virtualListen } from '../../../verify/virtual/network/virtual-listen.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { type IndexConfig, indexSection } from '../src/config.ts'
import { runParts } from '../src/main.ts'
import { INDEX_METRICS } from '../src/metrics.ts'
import { type IndexParts, type IndexSurroundings, openParts } from '../src/parts.ts'
import { seedOf, type TestNetwork } from './network.ts'

const ROOT = createKeyring('k1', new Uint8Array(32).fill(7))
const RING = deriveKeyring(ROOT, 'index')
const TID = new Uint8Array(16).fill(9)
const ADMIN = mintAdminToken(RING, { tid: TID, aud: 'index' })

export function tokenFor(scopes: readonly Scope[], tid = 9): string {
  return mintToken(RING, { tid: new Uint8Array(16).fill(tid), aud: 'index', scopes })
}

const METRICS = { ...KERNEL_METRICS, ...INGRESS_METRICS, ...INDEX_METRICS }
const DIRECTORY = 'data/index'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** What ended the body before its end; the client sees a broken connection. */
  readonly broken: unknown
  /** The code of a problem. */
  readonly code: string | undefined
  json(): unknown
  fields(): Readonly<Record<string, unknown>>
}

export interface Asking {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string | object
  /** `null` for none; the administrator's otherwise. */
  readonly token?: string | null
  readonly signal?: AbortSignal
  /** Who asks; this machine otherwise. */
  readonly from?: string
  /** Over a connection that came when there were too many. */
  readonly crowded?: boolean
}

export interface ServiceOptions extends Partial<IndexSurroundings> {
  /** Others to ask; nobody otherwise. */
  readonly network?: TestNetwork
  /** Hosts that strangers name. */
  readonly outside?: (platform: VirtualPlatform) => Transport
  readonly config?: z.input<typeof indexSection>
  /** `memory` is amnesia. */
  readonly disk?: 'virtual' | 'memory'
  readonly wrap?: (platform: VirtualPlatform) => VirtualPlatform
  /** Sees the parts before any task runs. */
  readonly alter?: (parts: IndexParts) => void
  /** How far the machine's wall clock is ahead. */
  readonly wallSkewMs?: number
  /** Files that are there before the service starts. */
  readonly files?: Readonly<Record<string, Uint8Array>>
}

export class TestService {
  readonly world: VirtualWorld
  readonly machine: VirtualMachine
  readonly platform: VirtualPlatform
  readonly parts: IndexParts
  readonly running: RunningService<IndexConfig>
  readonly config: Config<IndexConfig>
  readonly summary: () => Promise<string>

  private constructor(
    world: VirtualWorld,
    machine: VirtualMachine,
    platform: VirtualPlatform,
    config: Config<IndexConfig>,
    parts: IndexParts,
    started: Awaited<ReturnType<typeof runParts>>,
  ) {
    this.world = world
    this.machine = machine
    this.platform = platform
    this.config = config
    this.parts = parts
    this.running = started.running
    this.summary = async () => await started.summary()
  }

  static async start(
    options: ServiceOptions = {},
    world = new VirtualWorld(1),
    machine = world.machine('node'),
  ): Promise<TestService> {
    return await world.run(TestService.open(options, world, machine))
  }

  /** Like `start`, inside a scenario that lets the world's time pass itself. */
  static async open(options: ServiceOptions, world: VirtualWorld, machine: VirtualMachine): Promise<TestService> {
    const {
      config: input = {},
      disk = 'virtual',
      wrap = (platform) => platform,
      files = {},
      wallSkewMs = 0,
      alter,
      network,
      outside,
      ...surroundings
    } = options
    const fresh = machine.start({ metrics: METRICS, wallSkewMs })
    const platform = wrap(disk === 'virtual' ? fresh : inMemory(fresh))
    if (Object.keys(files).length > 0) await makeDirectories(platform.disk, DIRECTORY)
    for (const [path, bytes] of Object.entries(files)) await writeFile(platform, path, bytes)
    const config = new Config<IndexConfig>({ values: indexSection.parse(input), origins: {} })
    const host = {
      platform,
      config,
      directory: DIRECTORY,
      authorizer: capabilityAuthorizer(platform.clock, () => ({ keyring: RING, isRevoked: () => false })),
      version: { service: 'index' },
      metricsText: async () => await Promise.resolve(''),
      onFatal: (task: string) => assert.fail(`${task} failed too often`),
      listen: virtualListen(platform),
      inflate: inlineInflate,
      identitySeed: seedOf(1),
      routings: network === undefined ? [] : [network.on(platform.clock)],
      selfUrls: () => ['https://self.example.org'],
      egress: outside?.(platform) ?? platform.transport,
      ...surroundings,
    }
    const parts = await openParts(host)
    alter?.(parts)
    const started = await runParts(host, parts)
    await started.running.health.readiness.until(({ ready }) => ready)
    return new TestService(world, machine, platform, config, parts, started)
  }

  /** Asks and lets time pass until the answer, body included, is here. */
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
    { headers = {}, body, token = ADMIN, signal, from = '127.0.0.1', crowded = false }: Asking = {},
  ): Promise<IngressResponse> {
    const isJson = body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array)
    const bytes = body === undefined ? undefined : Buffer.from(isJson ? JSON.stringify(body) : (body as Uint8Array))
    const fields: Record<string, string> = { host: 'localhost' }
    if (isJson) fields['content-type'] = 'application/json'
    if (bytes !== undefined) fields['content-length'] = String(bytes.length)
    if (token !== null) fields['authorization'] = `Bearer ${token}`
    Object.assign(fields, headers)
    for (const [name, value] of Object.entries(fields)) if (value === '') delete fields[name]
    return await this.running.ingress.handle({
      method,
      target,
      headers: Object.entries(fields).flat(),
      body: bytes === undefined || bytes.length === 0 ? undefined : inPieces(bytes),
      peer: { address: from, kind: 'tcp' },
      door: 'service',
      crowded,
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

  /** Stops, and starts again on what is on the drive. */
  async restart(options: ServiceOptions = {}): Promise<TestService> {
    await this.stop()
    this.machine.kill()
    return await TestService.start(options, this.world, this.machine)
  }
}

async function writeFile(platform: VirtualPlatform, path: string, bytes: Uint8Array): Promise<void> {
  const file = await platform.disk.open(path, { mode: 'append' })
  await file.truncate(0)
  await file.append([bytes])
  await file.sync()
  await file.close()
}

function inMemory(platform: VirtualPlatform): VirtualPlatform {
  const capacity = 256 * 1024 * 1024
  return { ...platform, disk: new MemoryDisk(platform, capacity), kv: new MemoryKvOpener(platform) }
}

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 50_000) yield await Promise.resolve(bytes.subarray(at, at + 50_000))
}

async function readAnswer({ status, headers: raw, body, held }: IngressResponse): Promise<Answer> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase()
    assert.equal(headers[name], undefined, `${name} came twice`)
    headers[name] = raw[at + 1]!
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
  const json = (): unknown => JSON.parse(all.toString())
  const fields = (): Record<string, unknown> => json() as Record<string, unknown>
  const isProblem = headers['content-type'] === 'application/problem+json' && all.length > 0
  const code = isProblem ? String(fields()['code']) : undefined
  return { status, headers, body: all, broken, json, fields, code }
}

export function isProblem(answer: Answer, status: number, code: string): void {
  assert.equal(`${answer.status} ${answer.code}`, `${status} ${code}`, answer.body.toString().slice(0, 300))
  const { type, title, detail, corr_id: corrId } = answer.fields()
  for (const field of [type, title, detail, corrId]) assert.equal(typeof field, 'string')
  assert.equal(answer.headers['x-corr-id'], corrId)
  if (status === 429 || status === 503) assert.match(answer.headers['retry-after'] ?? '', /^\d+$/)
}
