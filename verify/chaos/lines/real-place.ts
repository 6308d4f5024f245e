/** What a node gives its services, on the real disk and real ports of this machine, in this process. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Caller, type StorageClient, storageClient } from '@cairn/clients'
import { capabilityAuthorizer, INGRESS_METRICS } from '@cairn/http'
import type { Authorizer } from '@cairn/http/testing'
import {
  BREAKER_DEFAULT,
  Breakers,
  KERNEL_METRICS,
  MemoryLog,
  MemoryMetrics,
  type MetricTable,
  systemRuntime,
  type TaskBody,
} from '@cairn/kernel'
import { createPlatform, nodeLookup, openWorkers, type Platform, UndiciTransport } from '@cairn/platform'
import { inlineInflate } from '@cairn/platform/testing'
import { type Audience, createKeyring, deriveKeyring, mintAdminToken } from '@cairn/wire'
import { ChaosProxy } from '../proxy.ts'

const ROOT = createKeyring('k1', new Uint8Array(32).fill(7))
/** Before a target that failed is tried again; nobody wants to wait here for as long as a node does. */
const COOLDOWN_MS = 200
const TID = new Uint8Array(16).fill(9)

/** A token of the service with every scope. */
export function tokenOf(aud: Audience): string {
  return mintAdminToken(deriveKeyring(ROOT, aud), { tid: TID, aud })
}

export class RealPlace implements AsyncDisposable {
  readonly metrics: MemoryMetrics
  readonly platform: Platform
  readonly #directory: string
  readonly #closing: (() => unknown)[] = []

  private constructor(directory: string, table: MetricTable) {
    this.#directory = directory
    this.metrics = new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...table })
    const runtime = systemRuntime(new MemoryLog(), this.metrics)
    const workers = openWorkers(runtime)
    const transport = new UndiciTransport(runtime)
    this.platform = createPlatform(runtime, { workers, transport, lookup: nodeLookup })
    this.onClose(async () => await transport.close())
    this.onClose(async () => await workers.close())
  }

  static async open(...tables: readonly MetricTable[]): Promise<RealPlace> {
    const directory = await mkdtemp(join(tmpdir(), 'cairn-line-'))
    const place = new RealPlace(directory, Object.assign({}, ...tables) as MetricTable)
    return place
  }

  /** What every service is given. */
  host(aud: Audience) {
    const keyring = deriveKeyring(ROOT, aud)
    const authorizer: Authorizer = capabilityAuthorizer(this.platform.clock, () => ({
      keyring,
      isRevoked: () => false,
    }))
    return {
      platform: this.platform,
      authorizer,
      inflate: inlineInflate,
      version: {},
      directory: join(this.#directory, aud),
      metricsText: async () => await Promise.resolve(''),
      onFatal: (task: string) => {
        throw new Error(`${task} failed too often.`)
      },
    }
  }

  /** Storage as another service sees it, at this place. */
  storageAt(base: URL): StorageClient {
    const breakers = new Breakers(this.platform, { ...BREAKER_DEFAULT, cooldownMs: COOLDOWN_MS })
    const janitor = new AbortController()
    breakers.janitor(janitor.signal).catch(() => undefined)
    this.onClose(() => {
      janitor.abort()
      breakers.close()
    })
    const grant = {
      scopes: ['storage:write', 'storage:hold'] as const,
      bearer: async () => await Promise.resolve(tokenOf('storage')),
    }
    const { platform: runtime } = this
    return storageClient(
      new Caller({ runtime, transport: runtime.transport, base, target: 'storage', breakers, grant }),
    )
  }

  /** A server that answers so, behind weather. */
  async serve(answer: RequestListener): Promise<ChaosProxy> {
    const server = createServer(answer)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.onClose(() => server.close())
    const proxy = await ChaosProxy.open((server.address() as AddressInfo).port)
    this.onClose(async () => await proxy[Symbol.asyncDispose]())
    return proxy
  }

  /** Runs at the end, what was opened last first. */
  onClose(close: () => unknown): void {
    this.#closing.push(close)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closing.toReversed()) await close()
    await rm(this.#directory, { recursive: true, force: true })
  }
}

/** A task that can be killed, and is started again by whoever supervises it. */
export class Mortal {
  #kill = new AbortController()

  wrap(body: TaskBody, isMortal: (name: string) => boolean = () => true): TaskBody {
    return async (context) => {
      if (!isMortal(context.name)) return await body(context)
      const end = new AbortController()
      const { signal } = this.#kill
      const stop = (): void => end.abort()
      for (const each of [context.aborting, signal]) each.addEventListener('abort', stop, { once: true })
      try {
        await body({ ...context, aborting: end.signal })
      } catch (cause) {
        throw context.aborting.aborted ? cause : new TypeError('The worker was killed.', { cause })
      } finally {
        for (const each of [context.aborting, signal]) each.removeEventListener('abort', stop)
      }
    }
  }

  /** Every one that runs now. */
  kill(): void {
    this.#kill.abort()
    this.#kill = new AbortController()
  }
}

export interface Told {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface Asking {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
  /** The address of this machine it is asked from. */
  readonly from?: string
}

/** One request on a connection of its own. A body that breaks off is an error. */
export async function ask(url: URL, { method = 'GET', headers = {}, body, from }: Asking = {}): Promise<Told> {
  const { promise, resolve, reject } = Promise.withResolvers<Told>()
  const options = { agent: false, method, headers, ...(from === undefined ? {} : { localAddress: from }) }
  const sent = request(url, options, (response) => {
    buffer(response).then(
      (bytes) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes }),
      reject,
    )
  })
  sent.once('error', reject)
  sent.end(body)
  return await promise
}

export function fieldsOf({ body }: Told): Readonly<Record<string, unknown>> {
  return JSON.parse(body.toString()) as Record<string, unknown>
}

/** Asks again until it is so. */
export async function eventually<T>(
  what: () => T | Promise<T>,
  isSo: (value: T) => boolean,
  timeoutMs = 10_000,
): Promise<T> {
  const startedAt = performance.now()
  for (;;) {
    const value = await what()
    if (isSo(value)) return value
    if (performance.now() - startedAt > timeoutMs) throw new Error(`Still ${JSON.stringify(value).slice(0, 300)}.`)
    await new Promise((resolve) => {
      setTimeout(resolve, 10)
    })
  }
}
