/**
 * A whole service in virtual time, asked through its ingress: no socket, no file, no thread.
 *
 *     machine ─ startMachine ─▶ platform ─ hostOf ─▶ host ─ the service's own parts ─▶ VirtualService: ask, sleep, stop
 */
import assert from 'node:assert/strict'
import {
  capabilityAuthorizer,
  INGRESS_METRICS,
  type RunningService,
  type ServiceConfig,
  type ServiceHost,
} from '@cairn/http'
import { Config, KERNEL_METRICS, type Labels, type MetricTable } from '@cairn/kernel'
import { MemoryDisk, makeDirectories } from '@cairn/platform'
import { inlineInflate } from '@cairn/platform/testing'
import type { IngressResponse } from '@cairn/transport'
import {
  type Audience,
  type Caveat,
  createKeyring,
  deriveKeyring,
  mintAdminToken,
  mintToken,
  type Scope,
} from '@cairn/wire'
import { type Answer, readAnswer } from './answer.ts'
import { checkContract } from './contract-check.ts'
import type { VirtualMachine, VirtualPlatform } from './machine.ts'
import { virtualListen } from './network/virtual-listen.ts'
import type { VirtualWorld } from './world.ts'

const ROOT = createKeyring('k1', new Uint8Array(32).fill(7))
const MEMORY_BYTES = 256 * 1024 * 1024

/** What may be known of somebody's token; its number tells it from others. */
export interface TokenOptions {
  readonly caveats?: readonly Caveat[]
  readonly number?: number
}

export function tokenOf(aud: Audience, scopes: readonly Scope[], options: TokenOptions = {}): string {
  const { caveats = [], number = 9 } = options
  return mintToken(ROOT, { tid: new Uint8Array(16).fill(number), aud, scopes, caveats })
}

export function adminTokenOf(aud: Audience): string {
  return mintAdminToken(ROOT, { tid: new Uint8Array(16).fill(9), aud })
}

export interface MachineOptions {
  /** `memory` is amnesia. */
  readonly disk?: 'virtual' | 'memory'
  readonly wrap?: (platform: VirtualPlatform) => VirtualPlatform
  /** How far the machine's wall clock is ahead. */
  readonly wallSkewMs?: number
  /** Files that are there before the service starts. */
  readonly files?: Readonly<Record<string, Uint8Array>>
}

/** A life of the machine for a service that declares these metrics beside those that all have. */
export async function startMachine(
  machine: VirtualMachine,
  metrics: MetricTable,
  { disk = 'virtual', wrap = (platform) => platform, wallSkewMs = 0, files = {} }: MachineOptions,
  environment: Readonly<Record<string, string>> = {},
): Promise<VirtualPlatform> {
  const all = { ...KERNEL_METRICS, ...INGRESS_METRICS, ...metrics }
  const platform = wrap(inMemory(machine.start({ metrics: all, wallSkewMs, environment }), disk === 'memory'))
  for (const [path, bytes] of Object.entries(files)) await writeFile(platform, path, bytes)
  return platform
}

function inMemory(platform: VirtualPlatform, isAmnesia: boolean): VirtualPlatform {
  if (!isAmnesia) return platform
  return { ...platform, disk: new MemoryDisk(platform, MEMORY_BYTES) }
}

export async function writeFile(platform: VirtualPlatform, path: string, bytes: Uint8Array): Promise<void> {
  await makeDirectories(platform.disk, path.slice(0, path.lastIndexOf('/')))
  const file = await platform.disk.open(path, { mode: 'append' })
  await file.truncate(0)
  await file.append([bytes])
  await file.sync()
  await file.close()
}

/** Everything a service asks of whoever runs it. A task that fails too often fails the test. */
export function hostOf<C extends ServiceConfig>(service: Audience, platform: VirtualPlatform, values: C) {
  const keyring = deriveKeyring(ROOT, service)
  return {
    platform,
    // Time in which nothing happens; the tests of `runService` are about it.
    config: new Config<C>({ values: { ...values, lame_duck: 0 }, origins: {} }),
    directory: `data/${service}`,
    authorizer: capabilityAuthorizer(platform.clock, () => ({ keyring, isRevoked: () => false })),
    version: { service },
    metricsText: async () => await Promise.resolve(''),
    onFatal: (task: string) => assert.fail(`${task} failed too often`),
    listen: virtualListen(platform),
    inflate: inlineInflate,
  } satisfies ServiceHost<C> & Readonly<Record<string, unknown>>
}

export interface Asking {
  /** These stand before those that the body and the token bring; an empty one takes it away. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as they are, in the order given, for what fields can only come in twice. */
  readonly rawHeaders?: readonly string[]
  readonly body?: Uint8Array | string | object | AsyncIterable<Uint8Array> | undefined
  /** `null` for none; the administrator's otherwise. */
  readonly token?: string | null
  readonly signal?: AbortSignal
  /** Who asks; this machine otherwise. */
  readonly from?: string
  /** Over a connection that came when there were too many. */
  readonly crowded?: boolean
}

export interface OpenService<C extends ServiceConfig, P> {
  readonly world: VirtualWorld
  readonly machine: VirtualMachine
  readonly platform: VirtualPlatform
  readonly config: Config<C>
  readonly parts: P
  readonly running: RunningService<C>
}

export abstract class VirtualService<C extends ServiceConfig, P> implements OpenService<C, P> {
  readonly world: VirtualWorld
  readonly machine: VirtualMachine
  readonly platform: VirtualPlatform
  readonly config: Config<C>
  readonly parts: P
  readonly running: RunningService<C>
  /** What is sent where a test names no token. */
  readonly #token: string | null

  protected constructor(open: OpenService<C, P>, token: string | null) {
    this.world = open.world
    this.machine = open.machine
    this.platform = open.platform
    this.config = open.config
    this.parts = open.parts
    this.running = open.running
    this.#token = token
  }

  /** Asks and lets time pass until the answer, body included, is here. */
  async ask(method: string, target: string, asking: Asking = {}): Promise<Answer> {
    return await this.world.run(this.send(method, target, asking))
  }

  /** Asks; somebody else lets time pass. */
  async send(method: string, target: string, asking: Asking = {}): Promise<Answer> {
    const answer = await readAnswer(await this.begin(method, target, asking))
    checkContract(this.running.ingress.routeOf(method, target), answer)
    return answer
  }

  /** The answer with its body still to be read. */
  async begin(method: string, target: string, asking: Asking = {}): Promise<IngressResponse> {
    const { headers = {}, rawHeaders = [], token = this.#token, signal, from = '127.0.0.1', crowded = false } = asking
    const { fields, body } = sent(asking.body)
    if (token !== null) fields['authorization'] = `Bearer ${token}`
    Object.assign(fields, headers)
    for (const [name, value] of Object.entries(fields)) if (value === '') delete fields[name]
    return await this.running.ingress.handle({
      method,
      target,
      headers: [...Object.entries(fields).flat(), ...rawHeaders],
      body,
      peer: { address: from, kind: 'tcp' },
      listenerKind: 'service',
      crowded,
      signal: signal ?? new AbortController().signal,
    })
  }

  metric(name: string, labels: Labels = {}): number {
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

type Sent = { readonly fields: Record<string, string>; readonly body: AsyncIterable<Uint8Array> | undefined }

/** A body as it is sent, and the fields that go with it; a stream says nothing of its length. */
function sent(body: Asking['body']): Sent {
  const fields: Record<string, string> = { host: 'localhost' }
  if (body === undefined) return { fields, body }
  if (typeof body === 'object' && Symbol.asyncIterator in body) return { fields, body }
  const isJson = typeof body !== 'string' && !(body instanceof Uint8Array)
  if (isJson) fields['content-type'] = 'application/json'
  const bytes = typeof body === 'string' ? Buffer.from(body) : isJson ? Buffer.from(JSON.stringify(body)) : body
  fields['content-length'] = String(bytes.length)
  return { fields, body: bytes.length === 0 ? undefined : inPieces(bytes) }
}

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 50_000) yield await Promise.resolve(bytes.subarray(at, at + 50_000))
}
