/** Stories that make the service count things. Each runs once, and what it counted is read before the service stops. */
import { type Address, addressOf, toBase64url } from '@cairn/wire'
import {
  largest,
  type MetricScenario,
  type Reading,
  readMetrics,
} from '../../../verify/virtual/metric-coverage-suite.ts'
import { outside, resolvesTo, TestNames, TestStorage } from './dependencies.ts'
import { TestService, tokenFor } from './harness.ts'
import { type Behaviour, recordOf, signedProvider, TestNetwork, unsignedProvider } from './network.ts'
import { startPair } from './pair.ts'

const WALL = 1_700_000_000_000
const object = (count: number): Address => addressOf(Buffer.from(`object ${count}`))
const finds = (afterMs: number, who = 2): Behaviour => ({
  does: 'find',
  afterMs,
  providers: (cid) => [signedProvider(who, cid, WALL, { region: 'eu', ageMs: who === 3 ? 3_600_000 : 0 })],
})
const HANGS: Behaviour = { does: 'hang' }

/** Questions of every kind, answered from everywhere; pins, records and reports. */
export const traffic: MetricScenario = async () => {
  const [names, storage] = [new TestNames(), new TestStorage()]
  names.commit('site@1.0', resolvesTo(object(1)))
  storage.objects.add(object(2))
  let who = 2
  const network = new TestNetwork((cid) => {
    if (cid === object(3)) return [HANGS, HANGS, HANGS, finds(10), HANGS]
    if (cid === object(4)) return [finds(200), finds(200), finds(200), HANGS]
    if (cid === object(5)) return [HANGS, HANGS, HANGS, HANGS]
    if (cid === object(6)) return [{ does: 'nothing', afterMs: 1 }]
    if (cid === object(7)) return [{ does: 'find', afterMs: 1, providers: () => [unsignedProvider('12D3KooWx', WALL)] }]
    return [finds(1, who)]
  })
  const service = await TestService.start({
    network,
    names,
    storage: storage.client,
    config: { dht: { accept_unsigned: false } },
    outside: ({ clock }) => outside(clock, ({ url }) => (url.hostname.startsWith('peer-8') ? 200 : 404)),
  })
  for (const key of ['name:site@1.0', 'name:site@1.0', object(2), object(9)])
    await service.ask('GET', `/resolve/${key}`)
  for (let at = 3; at <= 7; at += 1) await service.ask('GET', `/providers/${object(at)}?region=eu`)
  await service.ask('GET', `/providers/${object(9)}`)
  await service.ask('GET', `/providers/${object(10)}`)
  who = 3
  await service.ask('GET', `/resolve/${object(10)}?fresh=true`)
  await service.ask('GET', `/providers/${object(10)}`)
  const { current } = service.config
  service.config.swap({ values: { ...current, dht: { ...current.dht, accept_unsigned: true } }, origins: {} })
  await service.ask('GET', `/providers/${object(7)}?limit=9`)
  await service.sleep(2100)
  await service.ask('GET', `/providers/${object(7)}?limit=9`)
  await service.ask('POST', '/admin/pin', { body: { cid: object(1) } })
  await service.ask('POST', '/admin/reindex', { body: { keys: [object(9), object(6), object(5), 'name:site@1.0'] } })
  const records = [recordOf(8, object(8), WALL), recordOf(9, object(8), WALL)].map(({ bytes }) => toBase64url(bytes))
  await service.ask('POST', '/announce', { body: { records: [...records, 'AAAA'] } })
  const body = { provider: '12D3KooWx', reason: 'corrupt' }
  await service.ask('POST', `/providers/${object(9)}/report`, { body })
  await service.sleep(5000)
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

/** Peers that fail and come back, peers that are slow, and time that runs out. */
export const trouble: MetricScenario = async () => {
  let peer: Behaviour = finds(1)
  const network = new TestNetwork(() => [peer])
  const service = await TestService.start({ network })
  for (let at = 20; at < 30; at += 1) await service.ask('GET', `/resolve/${object(at)}`)
  peer = { does: 'fail', afterMs: 1 }
  await service.ask('GET', `/resolve/${object(1)}`)
  const recovering = async (): Promise<void> => {
    const asked = service.send('GET', `/resolve/${object(2)}`)
    await service.world.sleep(10)
    peer = finds(1)
    await asked
  }
  await service.world.run(recovering())
  peer = HANGS
  await service.ask('GET', `/resolve/${object(3)}`)
  peer = { does: 'fail', afterMs: 1, code: 'timeout' }
  for (let at = 4; at <= 8; at += 1) await service.ask('GET', `/resolve/${object(at)}`)
  await service.sleep(1000)
  await service.ask('GET', `/resolve/${object(9)}`)
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

/** Requests that are refused before they reach anything. */
export const refusals: MetricScenario = async () => {
  const service = await TestService.start({
    config: { ingress: { max_rps: 100, burst: 20, max_rps_per_address: 100, burst_per_address: 100 } },
  })
  const gzip = { 'content-encoding': 'gzip', 'content-type': 'application/json' }
  const { gzipSync } = await import('node:zlib')
  await service.ask('POST', '/admin/pin', { body: gzipSync(Buffer.alloc(1024 * 1024)), headers: gzip })
  await service.ask('POST', '/admin/pin', { body: 'no gzip', headers: gzip })
  await service.ask('POST', '/admin/pin', { body: gzipSync(Buffer.from('{}')).subarray(0, -9), headers: gzip })
  await service.ask('POST', '/admin/pin', { body: Buffer.alloc(1024 * 1024 + 1) })
  for (const token of [null, tokenFor(['index:read'])]) await service.ask('POST', '/admin/pin', { body: {}, token })
  for (let at = 0; at < 120; at += 1) await service.send('GET', '/nothing', { from: '192.0.2.9' })
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

/** More of everything than there is room for. */
export const overload: MetricScenario = async () => {
  const config = {
    workers: 2,
    dht: { deadline: '60s' },
    limits: { max_per_route: 560, providers_per_minute: 1 },
    facets: { search: true, workers: 1 },
    ingress: { max_inflight: 800, max_streams: 1, request_timeout: '50s' },
  } as const
  const service = await TestService.start({
    config,
    network: new TestNetwork([finds(5)]),
    alter: (parts) => Object.assign(parts.cache, { janitor: () => async () => await Promise.resolve() }),
  })
  await service.ask('GET', `/providers/${object(0)}`)
  await service.ask('GET', `/providers/${object(0)}`)
  const waiting = Array.from({ length: 700 }, async (_, at) => await service.send('GET', `/resolve/${object(at)}`))
  const searches = Array.from({ length: 90 }, async () => await service.send('GET', '/search/site'))
  const more = Array.from({ length: 100 }, async () => await service.send('GET', '/search/site'))
  const keys = Array.from({ length: 1000 }, (_, at) => object(5000 + at))
  for (let time = 1; time <= 2; time += 1) await service.send('POST', '/admin/reindex', { body: { keys } })
  for (let at = 0; at < 2000; at += 1)
    service.parts.reindex.trySend({ question: { tag: 'providers', cid: object(1) }, priority: 'normal' })
  const streams = [1, 2].map(async () => await service.begin('GET', '/events'))
  await service.world.clock.settle()
  const full = await readMetrics(service)
  const inflight = full('inflight_requests', { route: '/resolve/:key' })
  const { current } = service.config
  service.config.swap({ values: { ...current, dht: { ...current.dht, deadline: 10 } }, origins: {} })
  await service.sleep(500)
  const slow = Array.from({ length: 60 }, async (_, at) => await service.send('GET', `/resolve/${object(9000 + at)}`))
  await service.world.run(Promise.all([...waiting, ...searches, ...more, ...slow]))
  for (let at = 0; at < 1200; at += 1)
    service.parts.cache.keep(`key ${at}`, { finding: { tag: 'nothing' }, names: 0 }, 1)
  const late = await readMetrics(service)
  for (const stream of await Promise.all(streams)) {
    const { body } = stream
    if (typeof body === 'object' && Symbol.asyncIterator in body) await body[Symbol.asyncIterator]().return?.()
  }
  await service.world.run(service.running.stop())
  await service.world.run(service.platform.workers.close())
  return (name, labels) => (name === 'inflight_requests' ? inflight : largest(full, late)(name, labels))
}

/** A subscriber of events that does not read. */
export const lag: MetricScenario = async () => {
  const service = await TestService.start()
  using slow = service.parts.events.subscribe()
  const body = { cid: object(1), action: 'pin', corr_id: 'x' } as const
  for (let count = 0; count < 1100; count += 1) service.parts.events.publish({ topic: 'index.pin.changed', body })
  slow.tryReceive()
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

/** A task that a defect ends, a stop that cannot wait for what is under way, and amnesia. */
export const crash: MetricScenario = async () => {
  const network = new TestNetwork([HANGS])
  const config = { dht: { deadline: '60s' }, ingress: { request_timeout: '60s' } } as const
  let isDefective = true
  const service = await TestService.start({
    network,
    config,
    amnesia: true,
    alter: ({ announcer }) => {
      const { run } = announcer
      Object.assign(announcer, {
        run: async (context: Parameters<typeof run>[0]) => {
          if (isDefective) {
            isDefective = false
            throw new TypeError('a defect')
          }
          await run(context)
        },
      })
    },
  })
  await service.sleep(31_000)
  const stranded = service.send('GET', `/resolve/${object(1)}`)
  await service.world.clock.settle()
  const stopping = service.running.stop()
  await service.world.run(stranded)
  await service.world.run(stopping)
  await service.world.run(service.platform.workers.close())
  return await readMetrics(service)
}

/** Indexes that take what they are told, refuse it, and do not listen. */
export const telling: MetricScenario = async () => {
  const readings: Reading[] = []
  for (const [status, token] of [[200], [404], [200, tokenFor(['index:read'])]] as const) {
    const { world, storage, teller, stop } = await startPair(() => status, token)
    storage.ingest(object(1))
    await world.run(world.sleep(1000))
    readings.push(await readMetrics(teller))
    await stop()
  }
  return largest(...readings)
}
