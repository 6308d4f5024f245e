/** Edge, §10: kill 50 % of the workers mid-load; `/readyz` degraded when shedding; recovered within 1 s of relaunch. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StorageClient } from '@cairn/clients'
import { Config } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { type EdgeConfig, edgeSection } from '../../../services/edge/src/config.ts'
import { runParts } from '../../../services/edge/src/main.ts'
import { EDGE_METRICS } from '../../../services/edge/src/metrics.ts'
import { openParts } from '../../../services/edge/src/parts.ts'
import { STORAGE_METRICS } from '../../../services/storage/src/metrics.ts'
import { ChaosProxy } from '../proxy.ts'
import { ask, eventually, fieldsOf, Mortal, RealPlace } from './real-place.ts'
import { BYTES, startStorage, stock } from './real-storage.ts'

const WORKERS = 8
/** More than the workers and their line hold. */
const CLIENTS = WORKERS + 512 + 40

async function startEdge(place: RealPlace, config: object, storage?: StorageClient) {
  const values = edgeSection.parse({ bind_addr: '127.0.0.1:0', ...config })
  const host = { ...place.host('edge'), config: new Config<EdgeConfig>({ values, origins: {} }), storage }
  const parts = await openParts(host)
  const workers = new Mortal()
  const isSecond = (name: string): boolean => Number(name.split('-').at(-1)) % 2 === 0
  Object.assign(parts.fills, { worker: workers.wrap(parts.fills.worker, isSecond) })
  const { running } = await runParts(host, parts)
  place.onClose(async () => await running.stop())
  await running.health.readiness.until(({ ready }) => ready)
  return { url: new URL(running.urls[0] ?? ''), running, workers }
}

/** An upstream that has everything, behind weather. */
async function startUpstream(place: RealPlace): Promise<ChaosProxy> {
  return await place.serve((_request, response) => response.setHeader('cache-control', 'max-age=60').end('x'))
}

test('edge: half of the workers are killed under load: degraded while shedding, ready within a second of their return', async () => {
  await using place = await RealPlace.open(EDGE_METRICS)
  const upstream = await startUpstream(place)
  upstream.weather = { tag: 'stall' }
  const { url, running, workers } = await startEdge(place, {
    mode: 'live',
    workers: WORKERS,
    allow: [upstream.url.host],
    dev_allow_loopback_http: true,
    routes: { up: upstream.url.href },
    // Slow machines are not what is tested, and neither are clients with too little time for their place in line.
    ingress: { max_rps: 0, max_inflight: 2000, max_streams: 2000, request_timeout: '20m' },
    fill_timeout: '30s',
  })
  const statuses = new Map<number, number>()
  const clients = Array.from({ length: CLIENTS }, async (_, n) => {
    const { status } = await ask(new URL(`/edge/assets/u/up/${n}`, url))
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  })
  await eventually(
    () => statuses.get(429) ?? 0,
    (refused) => refused === CLIENTS - WORKERS - 512,
  )
  const degraded = await eventually(
    async () => await ask(new URL('/readyz', url)),
    ({ status }) => status === 503,
  )
  assert.deepEqual([fieldsOf(degraded)['degraded'], fieldsOf(degraded)['missing']], [true, ['shedder_stable']])
  workers.kill()
  upstream.weather = { tag: 'fair' }
  await Promise.all(clients)
  const restarts = (): number => place.metrics.value('service_restarts_total', { kind: 'fill-worker' })
  await eventually(restarts, (count) => count === WORKERS / 2)
  await running.health.readiness.until(({ ready }) => ready)
  assert.equal((await ask(new URL('/readyz', url))).status, 200)
  // Nobody is left without an answer: what a killed worker had, and what it took with it, says when to come again.
  assert.deepEqual(new Set(statuses.keys()), new Set([429, 503, 200]))
  assert.equal((await ask(new URL('/edge/assets/u/up/afterwards', url))).status, 200)
})

test('edge: storage torn away in the middle of an object breaks the answer off; when it is back the object is whole', async () => {
  await using place = await RealPlace.open(EDGE_METRICS, STORAGE_METRICS)
  const storage = await startStorage(place)
  const bytes = BYTES.subarray(0, 4 * 1024 * 1024)
  await stock(storage, bytes)
  const proxy = await ChaosProxy.open(Number(storage.url.port))
  place.onClose(async () => await proxy[Symbol.asyncDispose]())
  const { url } = await startEdge(place, {}, place.storageAt(proxy.url))
  const object = new URL(`/edge/assets/b3/${addressOf(bytes)}`, url)
  proxy.weather = { tag: 'slow', bytesPerSecond: 8_000_000 }
  const torn = ask(object)
  await eventually(
    () => proxy.bytesBack,
    (count) => count > 1_000_000,
  )
  proxy.weather = { tag: 'reset' }
  await assert.rejects(torn, { code: 'ECONNRESET' })
  proxy.weather = { tag: 'fair' }
  const whole = await eventually(
    async () => await ask(object),
    ({ status }) => status === 200,
  )
  assert.ok(whole.body.equals(bytes))
})
