/**
 * Interop, §10: kill worker tasks mid-stream, slowloris on the listener (`../interop/real-sockets.test.ts`), upstream 5xx
 * bursts. `/readyz` flips to brownout on sustained errors or upstream p95 breach; read paths remain available.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Config } from '@cairn/kernel'
import { type InteropConfig, interopSection } from '../../../services/interop/src/config.ts'
import { runParts } from '../../../services/interop/src/main.ts'
import { INTEROP_METRICS } from '../../../services/interop/src/metrics.ts'
import { type InteropParts, openParts } from '../../../services/interop/src/parts.ts'
import { STORAGE_METRICS } from '../../../services/storage/src/metrics.ts'
import { ENVIRONMENT, signed } from '../interop/interop-life.ts'
import { ChaosProxy } from '../proxy.ts'
import { ask, eventually, fieldsOf, Mortal, RealPlace, type Told, tokenOf } from './real-place.ts'
import { startStorage } from './real-storage.ts'

const AUTHORIZED = { authorization: `Bearer ${tokenOf('interop')}` }
/** As it comes from something in front of storage that knows nothing of it. */
const BURST = 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'

interface RealInterop {
  readonly url: URL
  readonly parts: InteropParts
  readonly workers: Mortal
  /** Between interop and its storage. */
  readonly weather: ChaosProxy
  push(n: number): Promise<Told>
}

async function startInterop(place: RealPlace, upstreamP95 = '500ms'): Promise<RealInterop> {
  const storage = await startStorage(place)
  const weather = await ChaosProxy.open(Number(storage.url.port))
  place.onClose(async () => await weather[Symbol.asyncDispose]())
  const given = place.host('interop')
  const platform = { ...given.platform, process: { ...given.platform.process, environment: ENVIRONMENT } }
  const values = interopSection.parse({
    bind_addr: '127.0.0.1:0',
    ingress: { max_rps: 0, request_timeout: '30s' },
    brownout: { upstream_p95: upstreamP95 },
    providers: { github: { enabled: true, secrets: [{ env: 'HOOK_SECRET' }] } },
    // oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration
    rules: [{ provider: 'github', event: 'push', then: 'mailbox:builds' }],
  })
  const config = new Config<InteropConfig>({ values, origins: {} })
  const host = { ...given, platform, config, storage: place.storageAt(weather.url) }
  const parts = await openParts(host)
  const workers = new Mortal()
  Object.assign(parts.work, { worker: workers.wrap(parts.work.worker) })
  const { running } = await runParts(host, parts)
  place.onClose(async () => await running.stop())
  await running.health.readiness.until(({ ready }) => ready)
  const url = new URL(running.urls[0] ?? '')
  const push = async (n: number): Promise<Told> => {
    const body = JSON.stringify({ n })
    const fields = signed(body, String(n))
    const headers = Object.fromEntries(
      fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1] ?? '']] : [])),
    )
    return await ask(new URL('/webhooks/github', url), {
      method: 'POST',
      headers,
      body,
      from: `127.0.1.${1 + (n % 200)}`,
    })
  }
  return { url, parts, workers, weather, push }
}

/** What `/readyz` says of everything and of reads, and whether an object can be read. */
async function standing({ url }: RealInterop, object: string) {
  const at = async (path: string): Promise<Told> => await ask(new URL(path, url), { headers: AUTHORIZED })
  const [all, reads, read] = [await at('/readyz'), await at('/readyz?class=read'), await at(`/o/${object}`)]
  return { all: all.status, reads: reads.status, read: read.status, brownout: fieldsOf(all)['brownout'] }
}

async function objectOf(interop: RealInterop): Promise<string> {
  return String(fieldsOf(await interop.push(0))['address'])
}

test('interop: a burst of 5xx from storage begins a brownout; when it is over reads are served, and so is what GitHub sends', async () => {
  await using place = await RealPlace.open(INTEROP_METRICS, STORAGE_METRICS)
  // A busy machine is slow as well: here only errors count.
  const interop = await startInterop(place, '1m')
  const object = await objectOf(interop)
  interop.weather.weather = { tag: 'reset' }
  const answers = [await interop.push(1)]
  interop.weather.weather = { tag: 'answer', text: BURST }
  answers.push(...(await Promise.all(Array.from({ length: 120 }, async (_, n) => await interop.push(n + 1)))))
  for (const answer of answers)
    assert.deepEqual([answer.status, fieldsOf(answer)['code']], [503, 'DOWNSTREAM_UNAVAILABLE'])
  interop.weather.weather = { tag: 'fair' }
  await eventually(() => interop.parts.pressure.isBrown, Boolean)
  const served = await eventually(
    async () => await standing(interop, object),
    ({ read }) => read === 200,
  )
  assert.deepEqual(served, { all: 503, reads: 200, read: 200, brownout: ['error_rate'] })
  await eventually(
    async () => await interop.push(1),
    ({ status }) => status === 202,
  )
  const put = await ask(new URL('/put', interop.url), { method: 'POST', headers: AUTHORIZED, body: 'shed' })
  assert.deepEqual([put.status, fieldsOf(put)['code']], [503, 'BACKPRESSURE'])
})

test('interop: storage that became slow begins a brownout; reads are served all the while', async () => {
  await using place = await RealPlace.open(INTEROP_METRICS, STORAGE_METRICS)
  const interop = await startInterop(place)
  const object = await objectOf(interop)
  interop.weather.weather = { tag: 'late', latencyMs: 270 }
  const answers = await Promise.all(Array.from({ length: 24 }, async (_, n) => await interop.push(n + 1)))
  for (const { status } of answers) assert.equal(status, 202)
  await eventually(() => interop.parts.pressure.isBrown, Boolean)
  assert.deepEqual(await standing(interop, object), { all: 503, reads: 200, read: 200, brownout: ['p95'] })
})

test('interop: workers killed with webhooks in hand: each is answered, each that was taken is delivered once', async () => {
  await using place = await RealPlace.open(INTEROP_METRICS, STORAGE_METRICS)
  const interop = await startInterop(place)
  interop.weather.weather = { tag: 'stall' }
  const pushed = Array.from({ length: 20 }, async (_, n) => await interop.push(n))
  await eventually(
    () => interop.weather.connections.open,
    (open) => open > 0,
  )
  interop.workers.kill()
  interop.weather.weather = { tag: 'fair' }
  const statuses = (await Promise.all(pushed)).map(({ status }) => status)
  assert.ok(statuses.includes(503), String(statuses))
  // GitHub does not come again by itself; whoever redelivers finds out what became of the first.
  for (let n = 0; n < 20; n += 1) {
    const again = await eventually(
      async () => await interop.push(n),
      ({ status }) => status === 202,
    )
    assert.equal(fieldsOf(again)['duplicate'] === true || statuses[n] !== 202, true)
  }
  assert.equal(interop.parts.mailbox.facts().live, 20)
})
