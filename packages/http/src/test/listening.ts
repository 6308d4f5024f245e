/** An ingress behind a real socket, on the real clock, with everything it leaves behind checked at the end. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { Health, MemoryLog, MemoryMetrics, type Runtime, Shutdown, systemRuntime } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import type { ListenAddress } from '../connection/listener.ts'
import { type NodeListener, serveNode } from '../connection/node-listener.ts'
import { NO_CAPABILITIES } from '../pipeline/authorizer.ts'
import { Ingress, type IngressOptions } from '../pipeline/ingress.ts'
import { defineRoutes, type Route } from '../pipeline/route.ts'
import { type ConfigInput, HELLO, ingressConfig, METRICS } from './fixture.ts'
import { RawClient, type RawResponse } from './raw-client.ts'

export interface Listening extends AsyncDisposable {
  readonly runtime: Runtime & { readonly log: MemoryLog; readonly metrics: MemoryMetrics }
  readonly ingress: Ingress
  readonly shutdown: Shutdown
  readonly listener: NodeListener
  connect(localAddress?: string): Promise<RawClient>
  /** Sends one request of another client, which must be served whatever happens around it. */
  bystander(): Promise<void>
  /** Sends the text on a connection of its own and waits for the answer and the end of the connection. */
  exchange(text: string | Uint8Array): Promise<RawResponse | undefined>
}

export interface ListeningOptions extends Partial<Omit<IngressOptions, 'config' | 'runtime' | 'routes' | 'shutdown'>> {
  readonly routes?: readonly Route[]
  readonly config?: ConfigInput
  readonly address?: ListenAddress
}

const LOOPBACK: ListenAddress = { kind: 'tcp', host: '127.0.0.1', port: 0 }

export async function listening(options: ListeningOptions = {}): Promise<Listening> {
  const { routes = [], config: input = {}, address = LOOPBACK, ...rest } = options
  const log = new MemoryLog()
  const metrics = new MemoryMetrics(METRICS)
  const runtime = { ...systemRuntime(log, metrics), log, metrics }
  const shutdown = new Shutdown()
  const config = ingressConfig(input)
  const ingress = new Ingress({
    runtime,
    shutdown,
    routes: defineRoutes([HELLO, ...routes]),
    config,
    authorizer: NO_CAPABILITIES,
    ops: { health: new Health([]), version: { service: 'test' }, metricsText: () => '' },
    ...rest,
  })
  const listener = await serveNode({
    runtime,
    ingress,
    config,
    address,
    listenerKind: 'service',
    insecurePublic: false,
  })
  const connect = async (localAddress?: string): Promise<RawClient> => {
    const place = address.kind === 'unix' ? { path: address.path } : { host: address.host, port: listener.port }
    return await RawClient.open({ ...place, ...(localAddress === undefined ? {} : { localAddress }) })
  }
  return {
    runtime,
    ingress,
    shutdown,
    listener,
    connect,
    bystander: async () => {
      const client = await connect('127.0.0.2')
      client.send('GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n')
      assert.equal((await client.response())?.status, 200)
      client.end()
    },
    exchange: async (text) => {
      const client = await connect()
      client.send(text)
      const response = await client.response()
      await client.closed
      return response
    },
    [Symbol.asyncDispose]: async () => {
      await listener.close()
      await until(() => ingress.openRequests === 0)
      assert.equal(listener.openConnections, 0)
      assert.deepEqual(leaks(runtime), [])
    },
  }
}

/** Lets the event loop turn until it is so; a test that waits in vain is ended by its own timeout. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setImmediate()
}
