/** The whole service in virtual time, asked through its ingress: no socket, no file, no thread. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { RegistryClient } from '@cairn/clients'
import type { AuditHead } from '@cairn/names'
import type { Scope } from '@cairn/wire'
import type { z } from 'zod'
import type { Answer } from '../../../verify/virtual/answer.ts'
import type { VirtualMachine } from '../../../verify/virtual/machine.ts'
import {
  type Asking,
  adminTokenOf,
  hostOf,
  type MachineOptions,
  type OpenService,
  startMachine,
  tokenOf,
  VirtualService,
} from '../../../verify/virtual/virtual-service.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { type InteropConfig, interopSection } from '../src/config.ts'
import { runParts } from '../src/main.ts'
import { INTEROP_METRICS } from '../src/metrics.ts'
import { type InteropDependencies, type InteropParts, openParts } from '../src/parts.ts'
import { TestStorage } from './test-storage.ts'

export function tokenFor(scopes: readonly Scope[], exp?: number): string {
  return tokenOf('interop', scopes, exp === undefined ? {} : { caveats: [{ kind: 'exp', at: exp }] })
}

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

export interface ServiceOptions extends MachineOptions, InteropDependencies {
  readonly config?: ConfigInput
  readonly onFatal?: (task: string) => void
  /** It is not expected to become ready. */
  readonly isUnready?: boolean
}

export class TestService extends VirtualService<InteropConfig, InteropParts> {
  readonly storage: TestStorage
  readonly summary: () => Promise<string>

  private constructor(
    open: OpenService<InteropConfig, InteropParts>,
    storage: TestStorage,
    summary: () => Promise<string>,
  ) {
    super(open, adminTokenOf('interop'))
    this.storage = storage
    this.summary = summary
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
    const { config: input = {}, ...given } = options
    const platform = await startMachine(machine, INTEROP_METRICS, options, ENVIRONMENT)
    const values = interopSection.parse({ providers: PROVIDERS, ingress: { max_rps: 0 }, ...input })
    const storage = given.storage instanceof TestStorage ? given.storage : new TestStorage(platform.clock)
    const host = { ...hostOf('interop', platform, values), storage, ...given }
    const parts = await openParts(host)
    const { running, summary } = await runParts(host, parts)
    if (given.isUnready !== true) await running.health.readiness.until(({ ready }) => ready)
    return new TestService({ world, machine, ...host, parts, running }, storage, summary)
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

export function githubSignature(body: string, secret = SECRET): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

/** A registry that only takes audit heads. */
export function anchoringRegistry(): {
  readonly heads: AuditHead[]
  /** Checkpoints of its own that it was shown. */
  readonly shown: string[]
  readonly client: RegistryClient
} {
  const heads: AuditHead[] = []
  const shown: string[] = []
  const client: Partial<RegistryClient> = {
    auditHead: async (head) => {
      heads.push(head)
      return await Promise.resolve(heads.length - 1)
    },
    checkpoint: async () => await Promise.resolve(Buffer.from(`checkpoint of ${heads.length}`)),
    showCheckpoint: async (note) => {
      shown.push(Buffer.from(note).toString())
      return await Promise.resolve(false)
    },
    newestAuditHead: async (chain) => {
      const logIndex = heads.findLastIndex((head) => head.chain === chain)
      const found = heads[logIndex]
      return await Promise.resolve(found && { ...found, logIndex })
    },
  }
  return { heads, shown, client: client as RegistryClient }
}
