/** A service with one route of every sort a client has to cope with: on a port, on a socket and in this process. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  capabilityAuthorizer,
  INGRESS_METRICS,
  ingressSection,
  json,
  listenKeys,
  type RunningService,
  route,
  runService,
  type ServiceConfig,
} from '@cairn/http'
import {
  Breakers,
  Config,
  KERNEL_METRICS,
  MemoryLog,
  MemoryMetrics,
  type Runtime,
  sleep,
  systemRuntime,
} from '@cairn/kernel'
import { duration, section, setting, UndiciTransport } from '@cairn/platform'
import { InProcessTransport, type Transport, unixUrl } from '@cairn/transport'
import { createKeyring, deriveKeyring, mintToken, type Scope } from '@cairn/wire'

export const VERSION = { service: 'sample', version: '1.2.3', commit: 'abc' }

const SCHEMA = section({
  ...listenKeys(0),
  ingress: ingressSection(),
  drain_deadline: setting(duration(), { reload: 'restart', default: '1s', does: 'For the test.' }),
})

const open = { lane: 'inline', responses: { 200: { description: 'Fine.' } } } as const

/** What the routes saw and what ended them. */
export interface Witness {
  readonly requests: { readonly corrId: string; readonly budgetMs: number }[]
  abortedRequests: number
  endedStreams: number
}

function routes(witness: Witness) {
  return [
    route({
      ...open,
      method: 'POST',
      path: '/echo',
      summary: 'The body, to those who may.',
      scope: 'node:admin',
      body: 'bytes',
      limits: { bodyBytes: 1024 },
      handler: ({ body, corrId, deadline }) => {
        witness.requests.push({ corrId, budgetMs: deadline.remaining() })
        return { status: 200, headers: ['X-Two', 'a', 'X-Two', 'b'], body }
      },
    }),
    route({
      ...open,
      method: 'GET',
      path: '/never',
      summary: 'Waits until nobody waits for it.',
      handler: async ({ signal }) =>
        await new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            witness.abortedRequests += 1
            resolve(json(200, {}))
          })
        }),
    }),
    route({
      ...open,
      method: 'GET',
      path: '/stream',
      summary: 'Ten lines, then silence.',
      limits: { stream: true },
      handler: ({ signal }) => ({ status: 200, headers: ['Content-Type', 'text/plain'], body: lines(signal, witness) }),
    }),
    route({
      ...open,
      method: 'GET',
      path: '/conflict',
      summary: 'Refuses.',
      handler: () => json(409, { code: 'not a problem document' }),
    }),
  ]
}

async function* lines(signal: AbortSignal, witness: Witness): AsyncGenerator<Uint8Array> {
  try {
    for (let line = 0; line < 10; line += 1) yield new TextEncoder().encode(`${line}\n`)
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true })
    })
  } finally {
    witness.endedStreams += 1
  }
}

export class SampleService implements AsyncDisposable {
  readonly runtime: Runtime
  readonly breakers: Breakers
  readonly witness: Witness = { requests: [], abortedRequests: 0, endedStreams: 0 }
  readonly #directory = mkdtempSync(join(tmpdir(), 'cairn-clients-'))
  readonly #ring = deriveKeyring(createKeyring('k1', new Uint8Array(32).fill(7)), 'node')
  readonly #transports: Transport[] = []
  #running: RunningService<ServiceConfig> | undefined

  private constructor() {
    this.runtime = systemRuntime(new MemoryLog(), new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS }))
    this.breakers = new Breakers(this.runtime)
  }

  static async start(): Promise<SampleService> {
    const sample = new SampleService()
    const values = SCHEMA.parse({ lame_duck: 0, uds: { path: join(sample.#directory, 'run', 'sample.sock') } })
    sample.#running = await runService({
      runtime: sample.runtime,
      config: new Config<ServiceConfig>({ values, origins: {} }),
      conditions: ['storage'],
      version: VERSION,
      metricsText: () => '',
      authorizer: capabilityAuthorizer(sample.runtime.clock, () => ({ keyring: sample.#ring, isRevoked: () => false })),
      build: async () => ({ routes: routes(sample.witness) }),
    })
    return sample
  }

  get service(): RunningService<ServiceConfig> {
    assert.ok(this.#running !== undefined)
    return this.#running
  }

  bearer(scopes: readonly Scope[]): string {
    return mintToken(this.#ring, { tid: new Uint8Array(16), aud: 'node', scopes })
  }

  /** Every way to reach it, by name. */
  ways(): Record<string, { transport: Transport; base: URL }> {
    const http = new UndiciTransport(this.runtime)
    const inProcess = new InProcessTransport(this.service.ingress)
    this.#transports.push(http, inProcess)
    const tcp = this.service.urls.find((url) => url.startsWith('http://')) ?? ''
    const socket = unixUrl(join(this.#directory, 'run', 'sample.sock'))
    return {
      'over TCP': { transport: http, base: new URL(tcp) },
      'over a Unix socket': { transport: http, base: socket },
      'in process': { transport: inProcess, base: new URL('http://localhost/') },
    }
  }

  /** Waits until the service has nothing open. */
  async quiet(): Promise<void> {
    while (this.service.ingress.openRequests > 0) await sleep(this.runtime.clock, 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const transport of this.#transports) await transport.close()
    await this.service.stop()
    this.breakers.close()
    rmSync(this.#directory, { recursive: true })
    assert.deepEqual(this.runtime.topology.snapshot(), [])
    assert.equal(this.runtime.clock.pending(), 0)
  }
}
