/** The whole service in virtual time, asked through its ingress: no socket, no file, no thread. */
import assert from 'node:assert/strict'
import { Config, isKind, KERNEL_METRICS } from '@cairn/kernel'
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
import {
  type Audience,
  type Caveat,
  createKeyring,
  deriveKeyring,
  mintAdminToken,
  mintToken,
  type Scope,
} from '@cairn/wire'
import type { z } from 'zod'
import type { VirtualMachine, VirtualPlatform } from '../../../verify/virtual/machine.ts'
import { virtualListen } from '../../../verify/virtual/network/virtual-listen.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { type StorageConfig, storageSection } from '../src/config.ts'
import { runParts } from '../src/main.ts'
import { STORAGE_METRICS } from '../src/metrics.ts'
import { openParts, type StorageParts } from '../src/parts.ts'

const ROOT = createKeyring('k1', new Uint8Array(32).fill(7))
const RING = deriveKeyring(ROOT, 'storage')
const TID = new Uint8Array(16).fill(9)
export const ADMIN = mintAdminToken(RING, { tid: TID, aud: 'storage' })

export function tokenFor(scopes: readonly Scope[], caveats: readonly Caveat[] = [], aud: Audience = 'storage'): string {
  return mintToken(ROOT, { tid: TID, aud, scopes, caveats })
}

const METRICS = { ...KERNEL_METRICS, ...INGRESS_METRICS, ...STORAGE_METRICS }
/** Most tests want room for a few objects, not for two segments. */
const RESERVE = '1MiB'

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
  readonly body?: Uint8Array | string | AsyncIterable<Uint8Array>
  /** `null` for none; the administrator's otherwise. */
  readonly token?: string | null
  readonly signal?: AbortSignal
}

export interface ServiceOptions {
  readonly config?: z.input<typeof storageSection>
  /** `memory` is amnesia. */
  readonly disk?: 'virtual' | 'memory'
  readonly wrap?: (platform: VirtualPlatform) => VirtualPlatform
  /** Done on the machine before the service starts. */
  readonly prepare?: (platform: VirtualPlatform) => Promise<void>
}

export class TestService {
  readonly world: VirtualWorld
  readonly machine: VirtualMachine
  readonly platform: VirtualPlatform
  readonly parts: StorageParts
  readonly running: RunningService<StorageConfig>
  readonly config: Config<StorageConfig>

  private constructor(
    world: VirtualWorld,
    machine: VirtualMachine,
    platform: VirtualPlatform,
    config: Config<StorageConfig>,
    parts: StorageParts,
    running: RunningService<StorageConfig>,
  ) {
    this.world = world
    this.machine = machine
    this.platform = platform
    this.config = config
    this.parts = parts
    this.running = running
  }

  static async start(
    options: ServiceOptions = {},
    world = new VirtualWorld(1),
    machine = world.machine('node'),
  ): Promise<TestService> {
    return await world.run(TestService.open(options, world, machine))
  }

  /** Like `start`, inside a scenario that lets the world's time pass itself. */
  static async open(
    { config: input = {}, disk = 'virtual', wrap = (platform) => platform, prepare }: ServiceOptions,
    world: VirtualWorld,
    machine: VirtualMachine,
  ): Promise<TestService> {
    const fresh = machine.start({ metrics: METRICS })
    const platform = wrap(disk === 'virtual' ? fresh : inMemory(fresh))
    await prepare?.(platform)
    const config = new Config<StorageConfig>({
      values: storageSection.parse({ reserve_bytes: RESERVE, ...input }),
      origins: {},
    })
    const host = {
      platform,
      config,
      directory: 'data/storage',
      authorizer: capabilityAuthorizer(platform.clock, () => ({ keyring: RING, isRevoked: () => false })),
      version: { service: 'storage' },
      metricsText: async () => await Promise.resolve(''),
      onFatal: (task: string) => assert.fail(`${task} failed too often`),
      listen: virtualListen(platform),
      inflate: inlineInflate,
    }
    const parts = await openParts(host)
    const { running } = await runParts(host, parts)
    await running.health.readiness.until(({ ready }) => ready)
    return new TestService(world, machine, platform, config, parts, running)
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
    { headers = {}, body, token = ADMIN, signal }: Asking = {},
  ): Promise<IngressResponse> {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const fields: Record<string, string> = { host: 'localhost', ...headers }
    if (token !== null) fields['authorization'] = `Bearer ${token}`
    if (bytes instanceof Uint8Array) fields['content-length'] ??= String(bytes.length)
    return await this.running.ingress.handle({
      method,
      target,
      headers: Object.entries(fields).flat(),
      body: bytes instanceof Uint8Array ? (bytes.length === 0 ? undefined : inPieces(bytes)) : bytes,
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

function inMemory(platform: VirtualPlatform): VirtualPlatform {
  const capacity = 256 * 1024 * 1024
  return { ...platform, disk: new MemoryDisk(platform, capacity), kv: new MemoryKvOpener(platform) }
}

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 50_000) yield await Promise.resolve(bytes.subarray(at, at + 50_000))
}

export async function readAnswer({ status, headers: fields, body, held }: IngressResponse): Promise<Answer> {
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
  const { type, title, detail, corr_id: corrId } = answer.json()
  for (const field of [type, title, detail, corrId]) assert.equal(typeof field, 'string')
  assert.equal(answer.headers['x-corr-id'], corrId)
  if (status === 429 || status === 503) assert.match(answer.headers['retry-after'] ?? '', /^\d+$/)
}

/** Whether an error of ours of this kind ended the body. */
export function brokenBy(answer: Answer, kind: Parameters<typeof isKind>[1]): boolean {
  return isKind(answer.broken, kind)
}
