/** Stories that make the service count things. Each runs once, and what it counted is read before the service stops. */
import { gzipSync } from 'node:zlib'
import {
  largest,
  type MetricScenario,
  type Reading,
  readMetrics,
} from '../../../verify/virtual/metric-coverage-suite.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import type { Upstream } from './fake-upstream.ts'
import { FakePacks, FakeStorage, fakeIndex } from './fakes.ts'
import { LIVE, TestEdge } from './harness.ts'

async function stop(edge: TestEdge): Promise<void> {
  await edge.world.run(edge.running.stop())
  await edge.world.run(edge.platform.workers.close())
}

async function end(edge: TestEdge): Promise<Reading> {
  const reading = await readMetrics(edge)
  await stop(edge)
  return reading
}

const FRESH = { 'cache-control': 'max-age=2' }
const UP = '/edge/assets/u/up'

/** Everything the service is for. */
export const traffic: MetricScenario = async () => {
  const storage = new FakeStorage()
  const [small, large] = [storage.put('small'), storage.put(noise(100_000))]
  const packs = new FakePacks()
  packs.files.set('/p', { file: noise(100), tiles: { '0/0/0': noise(10) } })
  packs.files.set('/bad', undefined)
  const edge = await TestEdge.start({
    config: {
      ...LIVE,
      cas_max_bytes: '1MiB',
      packs: [
        { name: 'map', path: '/p' },
        { name: 'bad', path: '/bad' },
      ],
      routes: { up: { upstream: 'https://up.example/', pass_methods: ['PUT'] } },
    },
    storage: storage.client(),
    index: fakeIndex({}),
    openPack: packs.open,
    upstream: ({ url, method }, count) => {
      if (method === 'PUT') return { status: 204 }
      if (url.pathname === '/private') return { headers: { 'cache-control': 'private' }, body: ['p'] }
      return { headers: FRESH, body: [url.pathname === '/same' ? noise(50) : noise(400_000, count % 4)], afterMs: 20 }
    },
  })
  for (const id of [small, small, large]) await edge.get(`/edge/assets/b3/${id.slice(3)}`)
  await edge.get(`/edge/assets/b3/${large.slice(3)}`, { range: 'bytes=0-1' })
  await edge.get(`/edge/assets/b3/${large.slice(3)}`, { range: 'bytes=200000-' })
  await edge.world.run(Promise.all([edge.send('GET', `${UP}/a`), edge.send('GET', `${UP}/a`)]))
  await edge.sleep(100)
  await edge.get(`${UP}/a`)
  await edge.ask('PUT', `${UP}/a`)
  await edge.get(`${UP}/private`)
  for (const path of ['b', 'c', 'd', 'e', 'same']) {
    await edge.get(`${UP}/${path}`)
    await edge.sleep(3000)
    await edge.get(`${UP}/${path}`)
    await edge.sleep(100)
  }
  await edge.get('/edge/assets/p/map/0/0/0')
  await edge.sleep(1100)
  const held = edge.send('GET', `${UP}/held`)
  await edge.sleep(1)
  const reading = await readMetrics(edge)
  await edge.world.run(held)
  await stop(edge)
  return reading
}

/** Every reason in `X-Reason`, one after the other. */
export const refusals: MetricScenario = async () => {
  const answers: Readonly<Record<string, ReturnType<Upstream>>> = {
    '/base/silence': { fails: 'silence' },
    '/base/reset': { fails: 'reset' },
    '/base/tag': { headers: { etag: 'x' } },
    '/base/bomb': { headers: { ...FRESH, 'content-encoding': 'gzip' }, body: [gzipSync(Buffer.alloc(20_000_000))] },
    '/base/big': { headers: { ...FRESH, 'content-length': '9999999' } },
    '/base/range': { headers: FRESH, body: ['x'] },
  }
  const edge = await TestEdge.start({
    config: {
      ...LIVE,
      fill_timeout: '100ms',
      max_fill_bytes: '1MiB',
      routes: { up: 'https://up.example/base/', no: 'https://no.example/' },
    },
    upstream: ({ url }) => answers[url.pathname] ?? {},
  })
  for (const path of ['silence', 'reset', 'tag', 'bomb', 'big']) await edge.get(`${UP}/${path}`)
  await edge.get(`${UP}/range`, { range: 'bytes=5-' })
  await edge.get('/edge/assets/u/no/x')
  await edge.ask('PUT', `${UP}/x`, { body: noise(1024 * 1024 + 1) })
  await edge.ask('PUT', `${UP}/x`, {
    body: gzipSync(Buffer.alloc(1024 * 1024)),
    headers: { 'content-encoding': 'gzip' },
  })
  await edge.ask('PUT', `${UP}/x`, { body: noise(20), headers: { 'content-encoding': 'gzip' } })
  await edge.ask('PUT', `${UP}/x`, {
    body: gzipSync(noise(100)).subarray(0, -9),
    headers: { 'content-encoding': 'gzip' },
  })
  await edge.get('/events')
  return await end(edge)
}

/** More than there is room for. */
export const overload: MetricScenario = async () => {
  // So patient that the line is full before waiting in it is too long.
  const ingress = { max_rps: 0, max_inflight: 600, max_streams: 1, request_timeout: '20m' }
  const upstream: Upstream = () => ({ headers: FRESH, body: ['x', 3000, 'y'], afterMs: 500 })
  const edge = await TestEdge.start({ config: { ...LIVE, workers: 2, ingress }, upstream })
  await edge.get(`${UP}/hasty`, { 'request-timeout': '100ms' })
  const waiting = Array.from({ length: 650 }, async (_, at) => await edge.send('GET', `${UP}/${at}`))
  await edge.sleep(100)
  const full = await readMetrics(edge)
  await edge.sleep(5500)
  const late = await readMetrics(edge)
  await edge.world.run(Promise.all(waiting))
  await stop(edge)
  return largest(full, late)
}

/** Too many at once, and a store without a disk that is too small. */
export const limits: MetricScenario = async () => {
  const upstream: Upstream = () => ({ headers: FRESH, body: [noise(3 * 1024 * 1024)] })
  const config = { ...LIVE, ingress: { max_rps: 5, burst: 5 } }
  const edge = await TestEdge.start({ config, upstream, amnesiaBytes: 4 * 1024 * 1024 })
  await edge.get(`${UP}/large`)
  for (let at = 0; at < 10; at += 1) await edge.send('GET', '/nothing')
  using slow = edge.parts.events.subscribe()
  for (let at = 0; at < 1100; at += 1)
    edge.parts.events.publish({ topic: 'edge.fill', body: { route: 'up', status: 200, bytes: at } })
  slow.tryReceive()
  return await end(edge)
}

/** A disk that fails, a worker that crashes, and a stop that cannot wait. */
export const crash: MetricScenario = async () => {
  const state = { isNext: false }
  const edge = await TestEdge.start({
    upstream: ({ url }) => ({ headers: FRESH, body: url.pathname.endsWith('slow') ? ['x', 4800, 'y'] : ['x'] }),
    worker: (body) => async (context) => {
      if (context.name.endsWith('-1') && !state.isNext) {
        state.isNext = true
        throw new TypeError('a defect')
      }
      await body(context)
    },
  })
  await edge.sleep(1000)
  edge.machine.faults.rates = { 'io-error': 1 }
  await edge.get(`${UP}/unkept`)
  edge.machine.faults.clear()
  const stranded = edge.send('GET', `${UP}/slow`)
  await edge.sleep(100)
  await edge.world.run(edge.running.stop())
  await edge.send('GET', `${UP}/late`)
  await edge.world.run(stranded)
  const reading = await readMetrics(edge)
  await edge.world.run(edge.platform.workers.close())
  return reading
}
