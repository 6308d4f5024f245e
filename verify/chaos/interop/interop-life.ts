/** One life of interop with the storage it needs, on any machine; asked through its ingress, or through its port. */
import { createHmac } from 'node:crypto'
import { Caller, storageClient } from '@cairn/clients'
import { capabilityAuthorizer, INGRESS_METRICS, type Listen, type RunningService } from '@cairn/http'
import type { Authorizer } from '@cairn/http/testing'
import { Breakers, Config, KERNEL_METRICS } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { inlineInflate } from '@cairn/platform/testing'
import { InProcessTransport, isStream } from '@cairn/transport'
import { type Audience, createKeyring, deriveKeyring, mintAdminToken } from '@cairn/wire'
import { type InteropConfig, interopSection } from '../../../services/interop/src/config.ts'
import { INTEROP_METRICS } from '../../../services/interop/src/metrics.ts'
import type { InteropParts } from '../../../services/interop/src/parts.ts'
import { type StorageConfig, storageSection } from '../../../services/storage/src/config.ts'
import { startStorage } from '../../../services/storage/src/main.ts'
import { STORAGE_METRICS } from '../../../services/storage/src/metrics.ts'
import type { InteropModule } from './interop-module.ts'

export const LIFE_METRICS = { ...KERNEL_METRICS, ...INGRESS_METRICS, ...STORAGE_METRICS, ...INTEROP_METRICS }
const SECRET = 'kept by both sides'
export const ENVIRONMENT = { HOOK_SECRET: SECRET }

const ROOT = createKeyring('k1', new Uint8Array(32).fill(7))
const RINGS = { storage: deriveKeyring(ROOT, 'storage'), interop: deriveKeyring(ROOT, 'interop') }
const TID = new Uint8Array(16).fill(9)
const TOKEN = mintAdminToken(RINGS.interop, { tid: TID, aud: 'interop' })

/** Small enough that a campaign sees many segments come and go. */
const SEGMENT_BYTES = 12 * 1024

export interface LifeOptions {
  readonly interop: InteropModule
  readonly platform: Platform
  readonly data: string
  /** Without one nobody comes in by a socket. */
  readonly listen?: Listen | undefined
  /** Configured otherwise than the campaigns, with segments of the usual size. */
  readonly config?: object | undefined
}

export interface Answer {
  readonly status: number
  fields(): Readonly<Record<string, unknown>>
}

const NO_SOCKET: Listen = async ({ address }) =>
  await Promise.resolve({
    address,
    url: '',
    openConnections: 0,
    reconfigure: () => undefined,
    renewTls: () => undefined,
    leave: async () => await Promise.resolve(),
    close: async () => await Promise.resolve(),
  })

export class InteropLife {
  readonly parts: InteropParts
  readonly running: RunningService<InteropConfig>
  readonly #closing: () => Promise<void>

  private constructor(parts: InteropParts, running: RunningService<InteropConfig>, closing: () => Promise<void>) {
    this.parts = parts
    this.running = running
    this.#closing = closing
  }

  static async open({ interop, platform, data, listen, config }: LifeOptions): Promise<InteropLife> {
    const common = {
      platform,
      version: {},
      metricsText: async () => await Promise.resolve(''),
      onFatal: (task: string) => {
        throw new Error(`${task} failed too often.`)
      },
      inflate: inlineInflate,
    }
    const authorizer = (aud: 'storage' | 'interop'): Authorizer =>
      capabilityAuthorizer(platform.clock, () => ({ keyring: RINGS[aud], isRevoked: () => false }))
    const storage = await startStorage({
      ...common,
      listen: NO_SOCKET,
      directory: `${data}/storage`,
      identitySeed: new Uint8Array(32),
      authorizer: authorizer('storage'),
      config: new Config<StorageConfig>({ values: storageSection.parse({ reserve_bytes: '1MiB' }), origins: {} }),
    })
    await storage.running.health.readiness.until(({ ready }) => ready)
    const transport = new InProcessTransport(storage.running.ingress)
    const breakers = new Breakers(platform)
    const target: Audience = 'storage'
    const grant = {
      scopes: ['storage:write', 'storage:hold'] as const,
      bearer: async () => await Promise.resolve(mintAdminToken(RINGS.storage, { tid: TID, aud: target })),
    }
    const caller = new Caller({
      runtime: platform,
      transport,
      base: new URL('http://localhost/'),
      target,
      breakers,
      grant,
    })
    const host = {
      ...common,
      listen: listen ?? NO_SOCKET,
      directory: `${data}/interop`,
      authorizer: authorizer('interop'),
      config: new Config<InteropConfig>({ values: configured(config ?? {}), origins: {} }),
      storage: storageClient(caller),
      segmentBytes: config === undefined ? SEGMENT_BYTES : undefined,
    }
    const parts = await interop.openParts(host)
    const { running } = await interop.runParts(host, parts)
    await running.health.readiness.until(({ ready }) => ready)
    return new InteropLife(parts, running, async () => {
      breakers.close()
      await transport.close()
      await storage.running.stop()
    })
  }

  async ask(method: 'GET' | 'POST', target: string, body?: string, headers: readonly string[] = []): Promise<Answer> {
    const bytes = body === undefined ? undefined : Buffer.from(body)
    const response = await this.running.ingress.handle({
      method,
      target,
      headers: [
        'host',
        'localhost',
        ...headers,
        ...(bytes === undefined ? [] : ['content-length', String(bytes.length)]),
      ],
      body: bytes === undefined ? undefined : once(bytes),
      peer: { address: '127.0.0.1', kind: 'tcp' },
      listenerKind: 'service',
      crowded: false,
      signal: new AbortController().signal,
    })
    const { status, body: given, held } = response
    const pieces: Uint8Array[] = []
    if (isStream(given)) for await (const piece of given) pieces.push(piece)
    else if (given !== undefined) pieces.push(Buffer.from(given as Uint8Array))
    held?.[Symbol.dispose]()
    const text = Buffer.concat(pieces).toString()
    return { status, fields: () => JSON.parse(text) as Record<string, unknown> }
  }

  async stop(): Promise<void> {
    const { aborted, abandoned } = await this.running.stop()
    const left = [...aborted, ...abandoned]
    if (left.length > 0) throw new Error(`These did not end: ${left.join(', ')}.`)
    await this.#closing()
  }
}

/** The topics every webhook of the load has a message in. */
export const TOPICS = ['builds', 'audit'] as const

function pushTo(topic: string): object {
  // oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration
  return { provider: 'github', event: 'push', then: `mailbox:${topic}` }
}

function configured(more: object): InteropConfig {
  return interopSection.parse({
    bind_addr: '127.0.0.1:0',
    // Slow machines are not what is tested.
    ingress: { max_rps: 0, request_timeout: '30s' },
    mailbox: { visibility: '1s' },
    providers: { github: { enabled: true, secrets: [{ env: 'HOOK_SECRET' }] } },
    rules: TOPICS.map(pushTo),
    ...more,
  })
}

export const AUTHORIZED: readonly string[] = ['authorization', `Bearer ${TOKEN}`]

/** The headers GitHub would send with this body. */
export function signed(body: string, delivery: string, secret = SECRET): readonly string[] {
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  return ['x-hub-signature-256', `sha256=${signature}`, 'x-github-event', 'push', 'x-github-delivery', delivery]
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes)
}
