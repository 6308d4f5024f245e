/** A service from start to stop, on real sockets: what is promised about its end, and about moving. */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Config, MemoryLog, MemoryMetrics, Queue, type Runtime, systemRuntime } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import { freePorts } from '@cairn/platform/testing'
import type { IngressResponse, ListenerKind } from '@cairn/transport'
import { z } from 'zod'
import { json } from '../response/message.ts'
import { HELLO, METRICS, requestOf } from '../test/fixture.ts'
import { until } from '../test/listening.ts'
import { RawClient } from '../test/raw-client.ts'
import { NO_CAPABILITIES } from './authorizer.ts'
import { ingressSection, listenKeys } from './config.ts'
import { type Route, route } from './route.ts'
import {
  queueLane,
  type RunningService,
  runService,
  type ServiceConfig,
  type ServiceParts,
  type StopTogether,
  serveWorkLane,
  type WorkQueue,
} from './service.ts'

const TIMEOUT = { timeout: 30_000 }
const HEAD = 'Host: localhost\r\n'

const SCHEMA = z.strictObject({ ...listenKeys(0), ingress: ingressSection(), drain_deadline: z.number().default(2000) })
/** Only the tests that are about it wait for the lame duck. */
const NO_LAME_DUCK = { lame_duck: 0 }
const ALONE: StopTogether = { dependents: new Map(), drainDeadlineMs: 0, onDrained: () => {} }

interface Stage {
  readonly service: RunningService<ServiceConfig>
  readonly config: Config<ServiceConfig>
  readonly runtime: Runtime & { readonly metrics: MemoryMetrics; readonly log: MemoryLog }
  readonly queue: WorkQueue
  /** Lets the handlers of `/slow` and `/work` go on. */
  readonly gate: PromiseWithResolvers<void>
}

async function start(input: z.input<typeof SCHEMA> = {}, workers = 1): Promise<Stage> {
  const log = new MemoryLog()
  const metrics = new MemoryMetrics(METRICS)
  const runtime = { ...systemRuntime(log, metrics), log, metrics }
  const config = new Config<ServiceConfig>({ values: SCHEMA.parse({ ...NO_LAME_DUCK, ...input }), origins: {} })
  const gate = Promise.withResolvers<void>()
  const waiting: Route = route({
    ...HELLO,
    path: '/slow',
    handler: async () => {
      await gate.promise
      return json(200, { slow: true })
    },
  })
  const queue: WorkQueue = new Queue(runtime, {
    name: 'work',
    capacity: 8,
    overflow: 'reject',
    onLost: (job) => job.cancel(),
  })
  const service = await runService<ServiceConfig>({
    runtime,
    config,
    authorizer: NO_CAPABILITIES,
    conditions: ['disk'],
    version: { service: 'test' },
    metricsText: () => '',
    build: async ({ supervisor, health }): Promise<ServiceParts> => {
      supervisor.start('worker', async (context) => await serveWorkLane(queue, context), workers)
      health.meet('disk')
      await Promise.resolve()
      const routes = [HELLO, waiting, route({ ...waiting, path: '/work', lane: 'work' })]
      return { routes, work: queueLane(queue), intake: [queue] }
    },
  })
  return { service, config, runtime, queue, gate }
}

function portOf({ urls }: Pick<RunningService<ServiceConfig>, 'urls'>): number {
  return Number(new URL(urls[0] ?? '').port)
}

async function connect(service: RunningService<ServiceConfig>): Promise<RawClient> {
  return await RawClient.open({ host: '127.0.0.1', port: portOf(service) })
}

async function get(client: RawClient, path: string): Promise<number | undefined> {
  client.send(`GET ${path} HTTP/1.1\r\n${HEAD}\r\n`)
  return (await client.response())?.status
}

describe('a service that stops', TIMEOUT, () => {
  test('finishes what is in flight and what is queued, while the socket answers, and closes it last', async () => {
    const { service, runtime, queue, gate } = await start()
    assert.equal(await get(await connect(service), '/readyz'), 200)
    const held = await Promise.all([connect(service), connect(service), connect(service)])
    const [slow, working, queued] = held
    slow.send(`GET /slow HTTP/1.1\r\n${HEAD}\r\n`)
    working.send(`GET /work HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => queue.facts().received === 1)
    queued.send(`GET /work HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => queue.depth === 1 && service.ingress.openRequests === 3)
    const stopping = service.stop()
    const late = await connect(service)
    late.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    const refused = await late.response()
    assert.deepEqual([refused?.status, refused?.headers['connection']], [503, 'close'])
    assert.equal(await get(await connect(service), '/readyz'), 503)
    assert.equal(await get(await connect(service), '/healthz'), 200)
    gate.resolve()
    const answers = await Promise.all(held.map(async (client) => await client.response()))
    assert.deepEqual(
      answers.map((answer) => [answer?.status, answer?.headers['connection']]),
      [
        [200, 'close'],
        [200, 'close'],
        [200, 'close'],
      ],
    )
    assert.deepEqual(await stopping, { aborted: [], abandoned: [] })
    assert.ok((await connect(service).catch(() => undefined))?.isClosed ?? true)
    assert.deepEqual(leaks(runtime), [])
  })

  test('answers stragglers 503 at the deadline, counts them, and still closes', async () => {
    const { service, runtime, queue, gate } = await start({ drain_deadline: 100 })
    const held = await Promise.all([connect(service), connect(service), connect(service)])
    const [slow, working, queued] = held
    slow.send(`GET /slow HTTP/1.1\r\n${HEAD}\r\n`)
    working.send(`GET /work HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => queue.facts().received === 1)
    queued.send(`GET /work HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => service.ingress.openRequests === 3)
    const stopping = service.stop()
    const statuses = await Promise.all(held.map(async (client) => (await client.response())?.status))
    assert.deepEqual(statuses, [503, 503, 503])
    gate.resolve()
    const { aborted, abandoned } = await stopping
    assert.deepEqual([[...aborted].sort(), abandoned], [['listener', 'worker'], []])
    assert.equal(runtime.metrics.value('tasks_aborted_total', { kind: 'request' }), 3)
    await until(() => service.ingress.openRequests === 0)
    assert.deepEqual(leaks(runtime), [])
  })

  test('keeps the port open for the lame duck: probes and clients hear 503 there', async () => {
    const { service, runtime } = await start({ lame_duck: 60_000 })
    assert.equal(await get(await connect(service), '/readyz'), 200)
    const drained = Promise.withResolvers<void>()
    const stopping = service.stop({ ...ALONE, onDrained: drained.resolve })
    await drained.promise
    const late = await connect(service)
    late.send(`GET /hello HTTP/1.1\r\n${HEAD}\r\n`)
    const refused = await late.response()
    assert.deepEqual([refused?.status, refused?.headers['connection']], [503, 'close'])
    assert.equal(await get(await connect(service), '/readyz'), 503)
    assert.equal(await get(await connect(service), '/healthz'), 200)
    // The second signal ends it.
    service.abort()
    assert.deepEqual(await stopping, { aborted: [], abandoned: [] })
    assert.deepEqual(leaks(runtime), [])
  })

  test('serves a service in front that drains with it, and nobody else, until that one is done', async () => {
    const { service, runtime, queue, gate } = await start()
    const front = Promise.withResolvers<void>()
    const stopping = service.stop({ ...ALONE, dependents: new Map([['front', front.promise]]) })
    const answer = async (target: string, listenerKind: ListenerKind): Promise<IngressResponse> =>
      await service.ingress.handle(requestOf({ target, listenerKind }))
    assert.equal((await answer('/hello', 'service')).status, 503)
    assert.equal((await answer('/hello', 'peer-service')).status, 200)
    const working = answer('/work', 'peer-service')
    await until(() => queue.facts().received === 1)
    front.resolve()
    await setImmediate()
    assert.equal((await answer('/hello', 'peer-service')).status, 503)
    gate.resolve()
    assert.equal((await working).status, 200)
    assert.deepEqual(await stopping, { aborted: [], abandoned: [] })
    assert.deepEqual(leaks(runtime), [])
  })

  test('has the later deadline of a service in front', async () => {
    const { service, runtime, gate } = await start({ drain_deadline: 1 })
    const client = await connect(service)
    client.send(`GET /slow HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => service.ingress.openRequests === 1)
    const stopping = service.stop({ ...ALONE, drainDeadlineMs: 10_000 })
    const begunAt = runtime.clock.now()
    await until(() => runtime.clock.now() > begunAt + 20)
    gate.resolve()
    assert.equal((await client.response())?.status, 200)
    assert.deepEqual(await stopping, { aborted: [], abandoned: [] })
  })

  test('a service that only waited for one in front had nothing to abort', async () => {
    const { service, runtime } = await start({ drain_deadline: 1 })
    const front = Promise.withResolvers<void>()
    const stopping = service.stop({ ...ALONE, dependents: new Map([['front', front.promise]]) })
    assert.deepEqual(await stopping, { aborted: [], abandoned: [] })
    front.resolve()
    assert.deepEqual(leaks(runtime), [])
  })

  test('on a second signal does not wait for the deadline', async () => {
    const { service, runtime, gate } = await start({ drain_deadline: 5000 })
    const client = await connect(service)
    client.send(`GET /slow HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => service.ingress.openRequests === 1)
    const stopping = service.stop()
    service.abort()
    assert.equal((await client.response())?.status, 503)
    gate.resolve()
    await stopping
    await until(() => service.ingress.openRequests === 0)
    assert.deepEqual(leaks(runtime), [])
  })
})

describe('a service that cannot start', TIMEOUT, () => {
  test('leaves nothing behind', async () => {
    const first = await start()
    await assert.rejects(start({ bind_addr: `127.0.0.1:${portOf(first.service)}` }), { code: 'cannot_listen' })
    await first.service.stop()
    assert.deepEqual(leaks(first.runtime), [])
  })
})

describe('a service that moves', TIMEOUT, () => {
  /** One request after another, each on the connection the agent gives it, until told to stop. */
  function traffic(port: () => number): { readonly stop: () => Promise<{ served: number; failed: string[] }> } {
    const agent = new Agent({ keepAlive: true, maxSockets: 4 })
    const failed: string[] = []
    let served = 0
    const over = new AbortController()
    const one = async (): Promise<void> => {
      const status = await new Promise<number | string>((resolve) => {
        const outgoing = request({ host: '127.0.0.1', port: port(), path: '/hello', agent }, (response) => {
          response.resume()
          response.once('end', () => resolve(response.statusCode ?? 0))
        })
        outgoing.once('error', (error) => resolve(error.message))
        outgoing.end()
      })
      if (status === 200) served += 1
      else failed.push(String(status))
    }
    const loops = Array.from({ length: 4 }, async () => {
      while (!over.signal.aborted) await one()
    })
    const stop = async (): Promise<{ served: number; failed: string[] }> => {
      over.abort()
      await Promise.all(loops)
      agent.destroy()
      return { served, failed }
    }
    return { stop }
  }

  test('opens the new port first and refuses no request on either', async () => {
    const { service, runtime } = await start()
    const before = portOf(service)
    let port = before
    const clients = traffic(() => port)
    const counted = (): number => {
      service.ingress.updateMetrics()
      return runtime.metrics.value('http_requests_total', { route: '/hello', method: 'GET', status: '200' })
    }
    await until(() => counted() > 50)
    const rebinding = await service.rebind(SCHEMA.parse({ bind_addr: `127.0.0.1:${await freePorts(1)}` }))
    const finishing = rebinding.finish()
    port = portOf(service)
    assert.notEqual(port, before)
    const atMove = counted()
    await finishing
    await until(() => counted() > atMove + 50)
    const { served, failed } = await clients.stop()
    assert.deepEqual(failed, [])
    assert.ok(served > 100)
    assert.ok((await RawClient.open({ host: '127.0.0.1', port: before })).isClosed)
    await service.stop()
    assert.deepEqual(leaks(runtime), [])
  })

  test('stays where it is when the new place cannot be had, or another service could not follow', async () => {
    const { service, runtime } = await start()
    const before = portOf(service)
    await assert.rejects(service.rebind(SCHEMA.parse({ bind_addr: '192.0.2.1:0', insecure_public: true })), {
      code: 'cannot_listen',
    })
    const rebinding = await service.rebind(SCHEMA.parse({ bind_addr: `127.0.0.1:${await freePorts(1)}` }))
    await rebinding.rollBack()
    assert.equal(portOf(service), before)
    assert.equal(await get(await connect(service), '/hello'), 200)
    await service.stop()
    assert.deepEqual(leaks(runtime), [])
  })

  test('takes live limits from the next snapshot', async () => {
    const { service, config, runtime } = await start()
    const client = await connect(service)
    client.send('GET /hello HTTP/1.1\r\nHost: new.example\r\n\r\n')
    assert.equal((await client.response())?.status, 421)
    config.swap({ values: SCHEMA.parse({ ingress: { hosts: ['new.example'] } }), origins: {} })
    await until(() => true)
    client.send('GET /hello HTTP/1.1\r\nHost: new.example\r\n\r\n')
    assert.equal((await client.response())?.status, 200)
    await service.stop()
    assert.deepEqual(leaks(runtime), [])
  })
})
