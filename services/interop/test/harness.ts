/** The whole service in virtual time, asked through its ingress: no socket, no file, no thread. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { RegistryClient } from '@cairn/clients'
import { Config, KERNEL_METRICS } from '@cairn/kernel'
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
import { createKeyring, deriveKeyring, mintAdminToken, mintToken, type Scope } from '@cairn/wire'
import type { z } from 'zod'
import type { VirtualMachine, VirtualPlatform } from '../../../verify/virtual/machine.ts'
import { virtualListen } from '../../../verify/virtual/network/virtual-listen.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { type InteropConfig, interopSection } from '../src/config.ts'
import { runParts } from '../src/main.ts'
import { INTEROP_METRICS } from '../src/metrics.ts'
import { type InteropParts, type InteropSurroundings, openParts } from '../src/parts.ts'
import { TestStorage } from './test-storage.ts'

const ROOT = createKeyring('k1', new Uint8Array(32).fill(7))
const RING = deriveKeyring(ROOT, 'interop')
const ADMIN = mintAdminToken(RING, { tid: new Uint8Array(16).fill(9), aud: 'interop' })

export function tokenFor(scopes: readonly Scope[], exp?: number): string {
  const caveats = exp === undefined ? [] : [{ kind: 'exp', at: exp } as const]
  return mintToken(RING, { tid: new Uint8Array(16).fill(8), aud: 'interop', scopes, caveats })
}

const METRICS = { ...KERNEL_METRICS, ...INGRESS_METRICS, ...INTEROP_METRICS }
const DIRECTORY = 'data/interop'
const SECRET = "It's a Secret to Everybody"
export const OLD_SECRET = 'the one before'

type ConfigInput = NonNullable<z.input<typeof interopSection>>

/** GitHub, which sends once, and Stripe, which sends again. */
const PROVIDERS: ConfigInput['providers'] = {
  github: { enabled: true, secrets: [{ env: 'GITHUB_WEBHOOK_SECRET' }, { env: 'OLD_SECRET' }] },
  stripe: { enabled: true, secrets: [{ env: 'STRIPE_SECRET' }] },
  slack: { enabled: true, secrets: [{ env: 'GITHUB_WEBHOOK_SECRET' }] },
}
const ENVIRONMENT = {
  GITHUB_WEBHOOK_SECRET: SECRET,
  OLD_SECRET,
  STRIPE_SECRET: 'whsec_test',
  FORWARD_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The code of a problem. */
  readonly code: string | undefined
  fields(): Readonly<Record<string, unknown>>
}

export interface Asking {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string | object | undefined
  /** Sent as they are, in the order given, for what fields can only come in twice. */
  readonly rawHeaders?: readonly string[]
  /** `null` for none; the administrator's otherwise. */
  readonly token?: string | null
  readonly address?: string
  readonly signal?: AbortSignal
  readonly stream?: AsyncIterable<Uint8Array>
}

export interface ServiceOptions extends InteropSurroundings {
  readonly config?: ConfigInput
  /** `memory` is amnesia. */
  readonly disk?: 'virtual' | 'memory'
  readonly wrap?: (platform: VirtualPlatform) => VirtualPlatform
  /** How far the machine's wall clock is ahead. */
  readonly wallSkewMs?: number
  readonly onFatal?: (task: string) => void
}

export class TestService {
  readonly world: VirtualWorld
  readonly machine: VirtualMachine
  readonly platform: VirtualPlatform
  readonly parts: InteropParts
  readonly running: RunningService<InteropConfig>
  readonly config: Config<InteropConfig>
  readonly storage: TestStorage
  readonly summary: () => Promise<string>

  private constructor(
    world: VirtualWorld,
    machine: VirtualMachine,
    opened: Pick<TestService, 'platform' | 'config' | 'parts' | 'storage'>,
    started: Awaited<ReturnType<typeof runParts>>,
  ) {
    this.world = world
    this.machine = machine
    this.platform = opened.platform
    this.config = opened.config
    this.parts = opened.parts
    this.storage = opened.storage
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
    const { config: input = {}, disk = 'virtual', wrap = (each) => each, wallSkewMs = 0, onFatal, ...given } = options
    const fresh = machine.start({ metrics: METRICS, wallSkewMs, environment: ENVIRONMENT })
    const platform = wrap(disk === 'virtual' ? fresh : inMemory(fresh))
    const values = interopSection.parse({ providers: PROVIDERS, ingress: { max_rps: 0 }, ...input })
    const config = new Config<InteropConfig>({ values, origins: {} })
    const storage = given.storage instanceof TestStorage ? given.storage : new TestStorage(platform.clock)
    const host = {
      storage,
      ...given,
      platform,
      config,
      directory: DIRECTORY,
      authorizer: capabilityAuthorizer(platform.clock, () => ({ keyring: RING, isRevoked: () => false })),
      version: { service: 'interop' },
      metricsText: async () => await Promise.resolve(''),
      onFatal: onFatal ?? ((task: string) => assert.fail(`${task} failed too often`)),
      listen: virtualListen(platform),
      inflate: inlineInflate,
    }
    const parts = await openParts(host)
    const started = await runParts(host, parts)
    await started.running.health.readiness.until(({ ready }) => ready)
    return new TestService(world, machine, { platform, config, parts, storage }, started)
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
  async begin(method: string, target: string, asking: Asking = {}): Promise<IngressResponse> {
    const { headers = {}, body, token = ADMIN, signal, rawHeaders = [], address = '127.0.0.1', stream } = asking
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
      headers: [...Object.entries(fields).flat(), ...rawHeaders],
      body: stream ?? (bytes === undefined || bytes.length === 0 ? undefined : inPieces(bytes)),
      peer: { address, kind: 'tcp' },
      door: 'service',
      crowded: false,
      signal: signal ?? new AbortController().signal,
    })
  }

  /** A GitHub webhook with this body; signed with the right secret unless told otherwise. */
  async github(body: string, { secret = SECRET, event = 'push', ...asking }: GithubOptions = {}): Promise<Answer> {
    return await this.world.run(this.sendGithub(body, { secret, event, ...asking }))
  }

  async sendGithub(
    body: string,
    { secret = SECRET, event = 'push', delivery, ...asking }: GithubOptions = {},
  ): Promise<Answer> {
    const headers = {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': delivery ?? '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      'x-hub-signature-256': githubSignature(body, secret),
      ...asking.headers,
    }
    return await this.send('POST', '/webhooks/github', { body, token: null, ...asking, headers })
  }

  /** A Stripe event, timed now. */
  async stripe(id: string, { secret = 'whsec_test', offsetSeconds = 0 } = {}): Promise<Answer> {
    const body = JSON.stringify({ id, type: 'charge.succeeded' })
    const time = Math.floor(this.platform.clock.wall() / 1000) + offsetSeconds
    const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
    const headers = { 'stripe-signature': `t=${time},v1=${signature}` }
    return await this.ask('POST', '/webhooks/stripe', { body, token: null, headers })
  }

  async lease(topic = 'github'): Promise<Leased | undefined> {
    const answer = await this.ask('POST', `/mailbox/${topic}/lease`)
    return answer.status === 204 ? undefined : (answer.fields() as Partial<Leased> as Leased)
  }

  /** Every message of the topic, taken and acknowledged. */
  async drain(topic = 'github'): Promise<Leased[]> {
    const all: Leased[] = []
    for (let leased = await this.lease(topic); leased !== undefined; leased = await this.lease(topic)) {
      const { id } = leased.receipt
      assert.equal((await this.ask('POST', `/mailbox/${topic}/${id}/ack`, { body: leased.receipt })).status, 204)
      all.push(leased)
    }
    return all
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
    return await TestService.start({ storage: this.storage, ...options }, this.world, this.machine)
  }
}

export interface GithubOptions extends Asking {
  readonly secret?: string
  readonly event?: string
  readonly delivery?: string
}

export interface Leased {
  readonly message: { readonly id: string; readonly body: Readonly<Record<string, unknown>> }
  readonly receipt: { readonly id: string; readonly attempt: number; readonly nonce: string }
}

function githubSignature(body: string, secret = SECRET): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

/** A registry that only takes audit heads. */
export function anchoringRegistry(): {
  readonly heads: { head: string; count: number }[]
  readonly client: RegistryClient
} {
  const heads: { head: string; count: number }[] = []
  const client = {
    auditHead: async (head: { head: string; count: number }) => {
      heads.push(head)
      return await Promise.resolve(heads.length - 1)
    },
  }
  return { heads, client: client as Partial<RegistryClient> as RegistryClient }
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
  for (let at = 0; at < raw.length; at += 2) headers[raw[at]!.toLowerCase()] = raw[at + 1]!
  const pieces: Buffer[] = []
  if (isStream(body)) for await (const piece of body) pieces.push(Buffer.from(piece))
  else if (body !== undefined) pieces.push(Buffer.from(body as Uint8Array))
  held?.[Symbol.dispose]()
  const all = Buffer.concat(pieces)
  const fields = (): Record<string, unknown> => JSON.parse(all.toString()) as Record<string, unknown>
  const isProblem = headers['content-type'] === 'application/problem+json' && all.length > 0
  return { status, headers, body: all, fields, code: isProblem ? String(fields()['code']) : undefined }
}

export function isProblem(answer: Answer, status: number, code: string): void {
  assert.equal(`${answer.status} ${answer.code}`, `${status} ${code}`, answer.body.toString().slice(0, 300))
  if (status === 429 || status === 503) assert.match(answer.headers['retry-after'] ?? '', /^\d+$/)
}
