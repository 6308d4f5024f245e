import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bus, Config, defineTopology, type Health, type Supervisor } from '@cairn/kernel'
import { leaks, virtualRuntime } from '@cairn/kernel/testing'
import { createKeyring, deriveKeyring, mintToken, type Scope } from '@cairn/wire'
import { z } from 'zod'
import type { Listen } from '../connection/listener.ts'
import { capabilityAuthorizer } from '../pipeline/authorizer.ts'
import { ingressSection, listenKeys } from '../pipeline/config.ts'
import { runService, type ServiceConfig } from '../pipeline/service.ts'
import { METRICS, requestOf } from '../test/fixture.ts'
import { eventsRoute } from './event-stream.ts'

const TOPOLOGY = defineTopology({
  service: 'clockwork',
  tasks: {},
  queues: {},
  broadcasts: { events: { capacity: 4, from: [], to: [], does: 'What happened.' } },
  watches: {},
  owners: {},
  timeouts: {},
})
const SCHEMA = z.strictObject({ ...listenKeys(0), ingress: ingressSection(), drain_deadline: z.number().default(2000) })
const RING = deriveKeyring(createKeyring('root', new Uint8Array(32).fill(7)), 'storage')

function bearer(scope: Scope): string[] {
  return ['Authorization', `Bearer ${mintToken(RING, { tid: new Uint8Array(16), aud: 'storage', scopes: [scope] })}`]
}

const READER = bearer('events:read')

/** Accepts no connection: requests are handed to the ingress. */
const deaf: Listen = async ({ address }) => {
  const nothing = (): undefined => undefined
  const ended = async (): Promise<void> => await Promise.resolve()
  const told = { reconfigure: nothing, renewTls: nothing, leave: ended, close: ended }
  return await Promise.resolve({ address, url: 'http://nowhere', openConnections: 0, ...told })
}

/** A service with nothing but its events. */
async function clockwork(input: z.input<typeof SCHEMA> = {}) {
  const runtime = virtualRuntime(1, METRICS)
  const bus = new Bus<{ tick: number }>(runtime, TOPOLOGY)
  const config = new Config<ServiceConfig>({ values: SCHEMA.parse({ lame_duck: 0, ...input }), origins: {} })
  const inside: { supervisor?: Supervisor; health?: Health } = {}
  const service = await runService<ServiceConfig>({
    runtime,
    config,
    authorizer: capabilityAuthorizer(runtime.clock, () => ({ keyring: RING, isRevoked: () => false })),
    conditions: ['spring'],
    version: {},
    metricsText: () => '',
    listen: deaf,
    build: async (host) => {
      Object.assign(inside, host)
      const close = async (): Promise<void> => await Promise.resolve(bus.close())
      return await Promise.resolve({ routes: [eventsRoute(runtime.clock, bus)], events: bus, close })
    },
  })
  const tick = (...bodies: readonly number[]): void => {
    for (const body of bodies) bus.publish({ topic: 'tick', body })
  }
  const ask = async (target = '/events', ...headers: string[]) =>
    await service.ingress.handle(requestOf({ target, headers: ['Host', 'localhost', ...headers] }))
  const streams: AsyncIterator<Uint8Array>[] = []
  /** Opens a stream; each call of `next` is one frame. */
  const listen = async (target?: string, ...headers: string[]) => {
    const { status, body } = await ask(target, ...READER, ...headers)
    assert.equal(status, 200)
    const frames = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    streams.push(frames)
    const next = async (): Promise<string> => {
      const step = await frames.next()
      return step.done === true ? 'end' : Buffer.from(step.value).toString()
    }
    return { next, leave: async () => await frames.return?.() }
  }
  const stop = async (): Promise<void> => {
    for (const stream of streams) await stream.return?.()
    await service.stop()
    assert.deepEqual(leaks(runtime), [])
  }
  return { runtime, bus, config, inside, service, tick, ask, listen, stop, life: bus.life }
}

test('a stream says where it begins, then what happens from now on, each with its id', async () => {
  const { tick, listen, stop, life } = await clockwork()
  tick(1)
  const stream = await listen()
  assert.equal(await stream.next(), `id: ${life}-1\n\n`)
  tick(2, 3)
  assert.equal(await stream.next(), `id: ${life}-2\nevent: tick\ndata: 2\n\n`)
  assert.equal(await stream.next(), `id: ${life}-3\nevent: tick\ndata: 3\n\n`)
  await stop()
})

test('since goes on after that event, and Last-Event-ID knows better than since', async () => {
  const { tick, listen, stop, life } = await clockwork()
  tick(1, 2, 3, 4)
  const back = await listen(`/events?since=${life}-2`)
  assert.equal(await back.next(), `id: ${life}-2\n\n`)
  assert.match(await back.next(), /data: 3\n/)
  const again = await listen(`/events?since=${life}-2`, 'Last-Event-ID', `${life}-3`)
  assert.equal(await again.next(), `id: ${life}-3\n\n`)
  assert.match(await again.next(), /data: 4\n/)
  await stop()
})

test('what the ring has lost is told as a gap, how much of it as well, and the rest follows', async () => {
  const { runtime, tick, listen, stop, life } = await clockwork()
  tick(1, 2, 3, 4, 5, 6)
  const late = await listen(`/events?since=${life}-1`)
  assert.equal(await late.next(), `id: ${life}-2\nevent: gap\ndata: {"missed":1}\n\n`)
  assert.match(await late.next(), /data: 3\n/)
  const other = await listen('/events?since=0zzz-3')
  assert.equal(await other.next(), `id: ${life}-2\nevent: gap\ndata: {"missed":null}\n\n`)
  assert.match(await other.next(), /data: 3\n/)
  const ahead = await listen(`/events?since=${life}-7`)
  assert.match(await ahead.next(), /event: gap\ndata: \{"missed":null\}/, 'an id this life has not given yet')
  assert.equal(
    runtime.metrics.value('bus_lagged_total', { topic: 'events', consumer: 'listener' }),
    0,
    'nobody was too slow',
  )
  await stop()
})

test('a client that reads too slowly is skipped forward, told, and counted; nobody waits for it', async () => {
  const { runtime, tick, listen, stop, life } = await clockwork()
  const slow = await listen()
  await slow.next()
  tick(1, 2, 3, 4, 5, 6, 7)
  assert.equal(await slow.next(), `id: ${life}-3\nevent: gap\ndata: {"missed":3}\n\n`)
  assert.match(await slow.next(), /data: 4\n/)
  assert.equal(runtime.metrics.value('bus_lagged_total', { topic: 'events', consumer: 'listener' }), 3)
  await stop()
})

test('a heartbeat comes when nothing happens', async () => {
  const { runtime, listen, stop } = await clockwork()
  const stream = await listen()
  await stream.next()
  const quiet = stream.next()
  await runtime.clock.run(15_000)
  assert.equal(await quiet, ': heartbeat\n\n')
  await stop()
})

test('it asks for events:read, takes only ids, and a seat among the streams', async () => {
  const { ask, listen, stop } = await clockwork({ ingress: { max_streams: 1, max_inflight: 1 } })
  assert.equal((await ask()).status, 401)
  assert.equal((await ask('/events', ...bearer('storage:admin'))).status, 403)
  assert.equal((await ask('/events?since=yesterday', ...READER)).status, 400)
  assert.equal((await ask('/events', ...READER, 'Last-Event-ID', '17')).status, 400)
  const one = await listen()
  assert.equal((await ask('/events', ...READER)).status, 429)
  assert.equal((await ask('/events?since=yesterday', ...READER)).status, 429)
  await one.leave()
  await (await listen()).leave()
  await stop()
})

test('a service says when it is ready and when not, takes over a configuration, loses a task, and stops', async () => {
  const { runtime, config, inside, listen, service, life } = await clockwork()
  const stream = await listen()
  await stream.next()
  const told = async (topic: string, body: object, coming = stream.next()): Promise<void> => {
    const frame = await coming
    assert.match(frame, new RegExp(`^id: ${life}-\\d+\nevent: ${topic}\n`))
    assert.deepEqual(JSON.parse(frame.split('data: ')[1] ?? ''), { service: 'clockwork', ...body })
  }
  inside.health?.meet('spring')
  await told('kernel.health', { ok: true, missing: [] })
  inside.health?.miss('spring', 'it broke')
  await told('kernel.health', { ok: false, missing: ['spring'] })
  config.swap({ values: config.current, origins: {} })
  await told('kernel.config.updated', { version: 1 })
  inside.supervisor?.start('escapement', async () => await Promise.reject(new Error('worn')))
  await told('kernel.crash', { task: 'escapement' })
  const last = stream.next()
  const stopping = service.stop()
  await told('kernel.shutdown', {}, last)
  assert.equal(await stream.next(), 'end')
  await stopping
  assert.deepEqual(leaks(runtime), [])
})
