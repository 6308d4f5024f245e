/**
 * The way to each service that others call, wherever it runs, and whether somebody answers there.
 *
 *     in this process ─────────────▶ its ingress, and its own word for whether it is ready
 *     node.neighbours.<name> ──────▶ that URL
 *     else where it would listen ──▶ its socket, or its port on this machine
 */

import { type ListenConfig, parseBindAddress, type RunningService, type ServiceConfig } from '@cairn/http'
import { Deadline, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { InProcessTransport, type Transport, unixUrl } from '@cairn/transport'
import type { NodeConfig } from './config.ts'
import type { Called, ServiceEndpoint } from './service-clients.ts'
import { NODE_TOPOLOGY } from './topology.ts'

/** Whether a neighbour can be worked with. */
export interface RemoteServiceState {
  readonly ready: boolean
  /** Why not. Empty when ready. */
  readonly why: string
}

export interface ServiceEndpointsOptions {
  readonly platform: Platform
  /** A service of this process. */
  readonly here: (name: string) => RunningService<ServiceConfig> | undefined
  readonly nodeConfig: () => NodeConfig
  readonly listenConfig: (name: string) => ListenConfig
}

const NOT_ASKED: RemoteServiceState = { ready: false, why: 'it has not been asked yet' }

export class ServiceEndpoints {
  readonly #options: ServiceEndpointsOptions
  readonly #inside: InProcessTransport[] = []
  /** Services of other processes that were asked for, with their last answer. */
  readonly #elsewhere = new Map<Called, { readonly url: URL; state: RemoteServiceState }>()

  constructor(options: ServiceEndpointsOptions) {
    this.#options = options
  }

  endpointFor(name: Called): ServiceEndpoint | undefined {
    const running = this.#options.here(name)
    if (running !== undefined) {
      const transport = new InProcessTransport(running.ingress)
      this.#inside.push(transport)
      return { transport, base: new URL('http://localhost/') }
    }
    const base = this.urlOf(name)
    if (base === undefined) return undefined
    if (!this.#elsewhere.has(name)) this.#elsewhere.set(name, { url: base, state: NOT_ASKED })
    return { transport: this.#options.platform.transport, base }
  }

  /** Where a service of another process is; nothing if there is none, or nobody can know. */
  urlOf(name: Called): URL | undefined {
    const told = this.#options.nodeConfig().neighbours[name]
    if (told === 'none') return undefined
    if (told !== undefined) return new URL(told.endsWith('/') ? told : `${told}/`)
    const { uds, bind_addr, tls } = this.#options.listenConfig(name)
    if (uds.path !== undefined) return unixUrl(uds.path)
    const { host, port } = parseBindAddress(bind_addr)
    if (port === 0) return undefined
    const at = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
    return new URL(`${tls.cert_path === undefined ? 'http' : 'https'}://${at.includes(':') ? `[${at}]` : at}:${port}/`)
  }

  state(name: Called): RemoteServiceState {
    const running = this.#options.here(name)
    if (running === undefined) return this.#elsewhere.get(name)?.state ?? NOT_ASKED
    const { ready, missing } = running.health.readiness.value
    return { ready, why: ready ? '' : `it waits for ${missing.join(', ')}` }
  }

  /** What is known of the services of other processes. */
  elsewhere(): { readonly name: Called; readonly url: string; readonly state: RemoteServiceState }[] {
    return [...this.#elsewhere].map(([name, { url, state }]) => ({ name, url: url.href, state }))
  }

  /** Asks each service of another process whether it is ready. */
  async ask(): Promise<void> {
    await Promise.all(
      [...this.#elsewhere].map(async ([name, remote]) => {
        const before = remote.state
        remote.state = await this.#ready(remote.url)
        if (before.ready === remote.state.ready || before === NOT_ASKED) return
        const { log } = this.#options.platform
        if (remote.state.ready) log.info({ neighbour: name }, 'a neighbour is back')
        else log.warn({ neighbour: name, why: remote.state.why }, 'a neighbour is away')
      }),
    )
  }

  async close(): Promise<void> {
    for (const transport of this.#inside) await transport.close()
  }

  async #ready(url: URL): Promise<RemoteServiceState> {
    const { transport, clock } = this.#options.platform
    const deadline = Deadline.after(clock, NODE_TOPOLOGY.timeouts.probe.ms)
    try {
      const { status, missing } = await readiness(transport, new URL('readyz', url), deadline)
      if (status === 200) return { ready: true, why: '' }
      return {
        ready: false,
        why: missing.length === 0 ? `it answered ${status}` : `it waits for ${missing.join(', ')}`,
      }
    } catch (error) {
      return { ready: false, why: `it does not answer (${toCairnError(error).code})` }
    }
  }
}

async function readiness(
  transport: Transport,
  url: URL,
  deadline: Deadline,
): Promise<{ readonly status: number; readonly missing: readonly string[] }> {
  const response = await transport.request({ method: 'GET', url, headers: {}, deadline })
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  const said: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  const missing = typeof said === 'object' && said !== null && 'missing' in said ? said.missing : undefined
  return { status: response.status, missing: Array.isArray(missing) ? missing.map(String) : [] }
}
