/** A storage service in memory, and a `fetch` that ends in its ingress instead of a socket. */
import assert from 'node:assert/strict'
import { capabilityAuthorizer, INGRESS_METRICS, type RunningService, type ServiceConfig } from '@cairn/http'
import {
  Config,
  KERNEL_METRICS,
  MemoryLog,
  MemoryMetrics,
  type Runtime,
  SystemClock,
  systemRuntime,
  type Timer,
} from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import { createPlatform, openWorkers, UndiciTransport } from '@cairn/platform'
import { STORAGE } from '@cairn/storage'
import { STORAGE_METRICS, storageSection } from '@cairn/storage/testing'
import type { IngressResponse } from '@cairn/transport'
import { isStream } from '@cairn/transport'
import { createKeyring, deriveKeyring, mintToken, type Scope } from '@cairn/wire'
import { Cairn } from '../src/cairn.ts'
import type { Fetch } from '../src/http.ts'

/** Two segments of 256 MiB are kept free. */
const MEMORY_BYTES = 2 ** 31
const SCOPES: readonly Scope[] = ['storage:write', 'storage:delete', 'storage:admin']

/** What passed through, counted where it cannot be missed. */
export interface Seen {
  method: string
  path: string
  sentBytes: number
}

/** Stands between a client and the service; may answer itself, lie, or break the connection. */
export type Between = (url: URL, init: RequestInit, pass: () => Promise<Response>) => Promise<Response>

/** Pauses between tries take no time; budgets, which are longer than any pause, take theirs. */
class InstantRetryClock extends SystemClock {
  override timer(ms: number, fire: () => void): Timer {
    return super.timer(ms <= PAUSE_MS_MAX ? 0 : ms, fire)
  }
}

const PAUSE_MS_MAX = 5000

export class StorageService implements AsyncDisposable {
  readonly runtime: Runtime
  readonly clientRuntime: Runtime = {
    ...systemRuntime(new MemoryLog(), new MemoryMetrics(KERNEL_METRICS)),
    clock: new InstantRetryClock(),
  }
  readonly seen: Seen[] = []
  inFlightMost = 0
  between: Between = async (_url, _init, pass) => await pass()
  readonly #ring = deriveKeyring(createKeyring('k1', new Uint8Array(32).fill(7)), 'storage')
  readonly #closing: (() => Promise<void>)[] = []
  #running: RunningService<ServiceConfig> | undefined
  #inFlight = 0

  private constructor() {
    const metrics = new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...STORAGE_METRICS })
    this.runtime = systemRuntime(new MemoryLog(), metrics)
  }

  static async start(): Promise<StorageService> {
    const service = new StorageService()
    const { runtime } = service
    const transport = new UndiciTransport(runtime)
    const workers = openWorkers(runtime)
    service.#closing.push(
      async () => await transport.close(),
      async () => await workers.close(),
    )
    const lookup = { addresses: async () => [] }
    const platform = createPlatform(runtime, { workers, transport, lookup, memoryBytes: MEMORY_BYTES })
    const values = storageSection.parse({ bind_addr: '127.0.0.1:0', durability: { scrub_pacing: '1GiB' } })
    const host = {
      platform,
      config: new Config({ values, origins: {} }),
      authorizer: capabilityAuthorizer(runtime.clock, () => ({ keyring: service.#ring, isRevoked: () => false })),
      directory: '/storage',
      version: { service: 'storage' },
      metricsText: async () => '',
      onFatal: (task: string, error: unknown) => assert.fail(`${task}: ${String(error)}`),
      identitySeed: new Uint8Array(32),
    }
    const { running } = await STORAGE.start(host)
    service.#running = running
    return service
  }

  get ingress(): RunningService<ServiceConfig>['ingress'] {
    assert.ok(this.#running !== undefined)
    return this.#running.ingress
  }

  bearer(scopes: readonly Scope[]): string {
    return mintToken(this.#ring, { tid: new Uint8Array(16), aud: 'storage', scopes })
  }

  client(more: { token?: string; runtime?: Runtime } = {}): Cairn {
    const { token = this.bearer(SCOPES) } = more
    const { clientRuntime } = this
    return new Cairn({
      storageUrl: 'http://localhost/',
      token,
      fetch: this.fetch,
      runtime: more.runtime ?? clientRuntime,
    })
  }

  /** Bytes of chunks and objects sent since the count was last taken. */
  takeSentBytes(): number {
    const sum = this.seen.reduce((total, { sentBytes }) => total + sentBytes, 0)
    this.seen.length = 0
    return sum
  }

  readonly fetch: Fetch = async (href, init) => {
    const url = new URL(href)
    const body = init.body as Uint8Array | undefined
    const isContent = url.pathname === '/c' || url.pathname.startsWith('/o')
    const entry = { method: init.method ?? '', path: url.pathname, sentBytes: isContent ? (body?.length ?? 0) : 0 }
    this.seen.push(entry)
    this.#inFlight += 1
    this.inFlightMost = Math.max(this.inFlightMost, this.#inFlight)
    try {
      return await this.between(url, init, async () => await this.#pass(url, init))
    } finally {
      this.#inFlight -= 1
    }
  }

  async #pass(
    { pathname, search }: URL,
    { method = 'GET', headers = {}, body, signal }: RequestInit,
  ): Promise<Response> {
    const bytes = body as Uint8Array | undefined
    const length = bytes === undefined ? [] : ['content-length', String(bytes.length)]
    const answer = await this.ingress.handle({
      method,
      target: `${pathname}${search}`,
      headers: ['host', 'localhost', ...Object.entries(headers as Record<string, string>).flat(), ...length],
      body: bytes === undefined ? undefined : inPieces(bytes),
      peer: { address: '127.0.0.1', kind: 'tcp' },
      listenerKind: 'service',
      crowded: false,
      signal: signal ?? new AbortController().signal,
    })
    signal?.throwIfAborted()
    return asResponse(answer)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running?.stop()
    for (const close of this.#closing) await close()
    assert.deepEqual(leaks(this.clientRuntime), [])
    assert.deepEqual(leaks(this.runtime), [])
  }
}

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000)
}

function asResponse({ status, headers: fields, body, held }: IngressResponse): Response {
  const headers = new Headers()
  for (let at = 0; at + 1 < fields.length; at += 2) headers.append(fields[at]!, fields[at + 1]!)
  if (!isStream(body)) {
    const whole = typeof body === 'string' ? body : body?.slice()
    held?.[Symbol.dispose]()
    return new Response(whole === undefined || status === 204 ? null : whole, {
      status,
      headers,
    })
  }
  const iterator = body[Symbol.asyncIterator]()
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await iterator.next()
      if (next.done === true) controller.close()
      else controller.enqueue(next.value.slice())
    },
    cancel: async () => {
      await iterator.return?.()
    },
  })
  return new Response(stream, { status, headers })
}
