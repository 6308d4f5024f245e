/** Interop on the real disk behind a real port, in this process; asked over sockets, from any address of this machine. */
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveNode } from '@cairn/http/testing'
import { MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { createPlatform, nodeLookup, openWorkers, UndiciTransport } from '@cairn/platform'
import { AUTHORIZED, ENVIRONMENT, InteropLife, LIFE_METRICS, type LifeOptions, signed } from './interop-life.ts'
import { loadInterop } from './interop-module.ts'

export interface Told {
  readonly status: number
  readonly text: string
  readonly ms: number
}

export class RealInterop implements AsyncDisposable {
  readonly life: InteropLife
  readonly metrics: MemoryMetrics
  readonly #url: URL
  readonly #agents = new Map<string, Agent>()
  readonly #closing: () => Promise<void>

  private constructor(life: InteropLife, metrics: MemoryMetrics, closing: () => Promise<void>) {
    this.life = life
    this.metrics = metrics
    this.#url = new URL(life.running.urls[0] ?? '')
    this.#closing = closing
  }

  static async open(config: LifeOptions['config'], secrets: Readonly<Record<string, string>> = {}) {
    const data = await mkdtemp(join(tmpdir(), 'cairn-real-interop-'))
    const metrics = new MemoryMetrics(LIFE_METRICS)
    const runtime = systemRuntime(new MemoryLog(), metrics)
    const workers = openWorkers(runtime)
    const transport = new UndiciTransport(runtime)
    const platform = createPlatform(runtime, { workers, transport, lookup: nodeLookup })
    const environment = { ...ENVIRONMENT, ...secrets }
    const given = { ...platform, process: { ...platform.process, environment } }
    const life = await InteropLife.open({
      interop: await loadInterop(),
      platform: given,
      data,
      listen: serveNode,
      config,
    })
    return new RealInterop(life, metrics, async () => {
      await life.stop()
      await transport.close()
      await workers.close()
      await rm(data, { recursive: true, force: true })
    })
  }

  get port(): number {
    return Number(this.#url.port)
  }

  /** A webhook of GitHub's; signed by another secret where one is given. */
  async push(body: string, from: string, secret?: string): Promise<Told> {
    return await this.ask('POST', '/webhooks/github', { body, headers: signed(body, body, secret), from })
  }

  async ask(
    method: 'GET' | 'POST',
    path: string,
    {
      body,
      headers = AUTHORIZED,
      from = '127.0.0.1',
    }: { body?: string; headers?: readonly string[]; from?: string } = {},
  ): Promise<Told> {
    const agent = this.#agents.get(from) ?? new Agent({ keepAlive: true, maxSockets: 8 })
    this.#agents.set(from, agent)
    const startedAt = performance.now()
    return await new Promise((resolve, reject) => {
      const fields = ['host', this.#url.host, ...headers]
      if (body !== undefined) fields.push('content-length', String(Buffer.byteLength(body)))
      const asked = request({
        port: this.port,
        host: '127.0.0.1',
        localAddress: from,
        method,
        path,
        agent,
        headers: fields,
      })
      asked.on('error', reject)
      asked.on('response', (response) => {
        let text = ''
        response.on('data', (piece: Buffer) => {
          text += piece.toString()
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, ms: performance.now() - startedAt }))
        response.on('error', reject)
      })
      asked.end(body)
    })
  }

  /** The bodies' addresses of every message of the topic, each taken and done. */
  async drain(topic: string): Promise<string[]> {
    const addresses: string[] = []
    for (;;) {
      const { status, text } = await this.ask('POST', `/mailbox/${topic}/lease`, { body: '' })
      if (status === 204) return addresses
      const { message, receipt } = JSON.parse(text) as Leased
      addresses.push(message.body.address)
      const headers = [...AUTHORIZED, 'content-type', 'application/json']
      const done = await this.ask('POST', `/mailbox/${topic}/${receipt.id}/ack`, {
        body: JSON.stringify(receipt),
        headers,
      })
      if (done.status !== 204) throw new Error(`An ack is answered ${done.status}: ${done.text}`)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const agent of this.#agents.values()) agent.destroy()
    await this.#closing()
  }
}

interface Leased {
  readonly message: { readonly body: { readonly address: string } }
  readonly receipt: { readonly id: string }
}
