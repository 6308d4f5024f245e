/** Upstreams that misbehave, as real servers on this machine: what a browser would see, and what is kept. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { INGRESS_METRICS, NO_CAPABILITIES, type RunningService } from '@cairn/http'
import { Config, KERNEL_METRICS, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { createPlatform, nodeLookup, openWorkers, UndiciTransport } from '@cairn/platform'
import { type EdgeConfig, edgeSection } from '../src/config.ts'
import { runParts } from '../src/main.ts'
import { EDGE_METRICS } from '../src/metrics.ts'
import { type EdgeParts, openParts } from '../src/parts.ts'

const MEMORY_BYTES = 64 * 1024 * 1024
const asked = new Map<string, number>()
const BOMB = gzipSync(Buffer.alloc(30 * 1024 * 1024))

const BEHAVIOURS: Readonly<
  Record<string, (response: ServerResponse, count: number, message: IncomingMessage) => void>
> = {
  good: (response) => response.writeHead(200, { 'Cache-Control': 'max-age=60' }).end('good'),
  stall: (response) =>
    response.writeHead(200, { 'Cache-Control': 'max-age=60', 'Content-Length': '10' }).write('12345'),
  silence: () => {},
  reset: (response) => response.socket?.resetAndDestroy(),
  'reset-late': (response) => {
    response.writeHead(200, { 'Cache-Control': 'max-age=60', 'Content-Length': '100000' })
    response.write('x'.repeat(50_000), () => response.socket?.resetAndDestroy())
  },
  short: (response) => {
    response.writeHead(200, { 'Cache-Control': 'max-age=60', 'Content-Length': '10', Connection: 'close' })
    response.write('12345', () => response.socket?.end())
  },
  private: (response) => response.writeHead(302, { Location: 'http://10.0.0.1/' }).end(),
  elsewhere: (response) => response.writeHead(302, { Location: 'http://localhost:1/' }).end(),
  bomb: (response) => response.writeHead(200, { 'Cache-Control': 'max-age=60', 'Content-Encoding': 'gzip' }).end(BOMB),
  burst: (response, count) =>
    response.writeHead(count < 3 ? 503 : 200, { 'Cache-Control': count < 3 ? '' : 'max-age=60' }).end('ok'),
  many: (response) => {
    response.writeHead(200, { 'Cache-Control': 'max-age=60' })
    runtime.clock.timer(50, () => response.end('one for all'))
  },
  /** Says after a while what it depends on, and says something else once it has been asked three times. */
  vary: (response, count, { headers }) => {
    const body = `${String(headers['x-kind'])} ${String(headers['x-other'])}`
    response.setHeader('Vary', count <= 3 ? 'X-Kind' : 'X-Kind, X-Other')
    runtime.clock.timer(50, () => response.writeHead(200, { 'Cache-Control': 'max-age=60' }).end(body))
  },
  nonsense: (response) => response.socket?.end('HTTP/9.9 what\r\n\r\n'),
}

const origin = createServer((message, response) => {
  const name = message.url?.slice(1) ?? ''
  const count = (asked.get(name) ?? 0) + 1
  asked.set(name, count)
  BEHAVIOURS[name]?.(response, count, message)
})

let running: RunningService<EdgeConfig>
let parts: EdgeParts
const metrics = new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...EDGE_METRICS })
const runtime = systemRuntime(new MemoryLog(), metrics)
const workers = openWorkers(runtime)
const transport = new UndiciTransport(runtime)

before(async () => {
  await new Promise<void>((resolve) => {
    origin.listen(0, '127.0.0.1', resolve)
  })
  const { port } = origin.address() as AddressInfo
  const platform = createPlatform(runtime, { workers, transport, lookup: nodeLookup, memoryBytes: MEMORY_BYTES })
  const values = edgeSection.parse({
    bind_addr: '127.0.0.1:0',
    mode: 'live',
    allow: [`127.0.0.1:${port}`],
    dev_allow_loopback_http: true,
    routes: { up: { upstream: `http://127.0.0.1:${port}/`, request_headers: ['x-kind', 'x-other'] } },
    fill_timeout: '600ms',
  })
  const host = {
    platform,
    config: new Config({ values, origins: {} }),
    directory: 'edge',
    authorizer: NO_CAPABILITIES,
    version: {},
    metricsText: async () => await Promise.resolve(''),
    onFatal: (task: string) => assert.fail(task),
    amnesiaBytes: MEMORY_BYTES,
  }
  parts = await openParts(host)
  ;({ running } = await runParts(host, parts))
})

after(async () => {
  await running.stop()
  await workers.close()
  await transport.close()
  origin.closeAllConnections()
  origin.close()
})

interface Seen {
  readonly status: number
  readonly reason: string | undefined
  readonly text: string
  readonly isWhole: boolean
}

/** As a client that notices when a connection ends before the body does. */
async function see(name: string, headers: Readonly<Record<string, string>> = {}): Promise<Seen> {
  return await new Promise((resolve, reject) => {
    const url = `${running.urls[0]?.replace(/\/$/, '')}/edge/assets/u/up/${name}`
    const asking = request(url, { headers }, (response) => {
      let text = ''
      const { statusCode: status = 0 } = response
      const reason = response.headers['x-reason']?.toString()
      const end = (isWhole: boolean): void => resolve({ status, reason, text, isWhole: isWhole && response.complete })
      response.setEncoding('latin1')
      response.on('data', (piece: string) => {
        text += piece
      })
      response.on('end', () => end(true))
      response.on('error', () => end(false))
    })
    asking.on('error', reject)
    asking.end()
  })
}

test('100 clients on a cold key are one request', async () => {
  const seen = await Promise.all(Array.from({ length: 100 }, async () => await see('many')))
  for (const { status, text, isWhole } of seen) assert.deepEqual([status, text, isWhole], [200, 'one for all', true])
  assert.equal(asked.get('many'), 1)
})

const REFUSED: readonly (readonly [name: string, status: number, reason: string])[] = [
  ['silence', 504, 'timeout'],
  ['reset', 502, 'upstream'],
  ['private', 403, 'not_allowed'],
  ['elsewhere', 403, 'not_allowed'],
  ['bomb', 502, 'decompress_cap'],
  ['nonsense', 502, 'upstream'],
]
for (const [name, status, reason] of REFUSED) {
  test(`${name}: ${status} ${reason}`, async () => {
    const before = metrics.value('edge_rejects_total', { reason })
    const seen = await see(name)
    assert.deepEqual([seen.status, seen.reason, seen.isWhole], [status, reason, true])
    assert.equal(metrics.value('edge_rejects_total', { reason }), before + 1)
  })
}

for (const name of ['stall', 'reset-late', 'short']) {
  test(`${name}: the connection is destroyed in the middle of the body, and nothing of it is kept`, async () => {
    const entries = parts.cas.facts().entries
    const seen = await see(name)
    assert.deepEqual([seen.status, seen.isWhole], [200, false])
    assert.equal(parts.cas.facts().entries, entries)
    assert.equal(parts.fills.flying, 0)
  })
}

test('a burst of 503 is passed over, and the service goes on as if nothing had been', async () => {
  assert.equal((await see('burst')).text, 'ok')
  assert.equal(asked.get('burst'), 3)
  assert.equal((await see('good')).text, 'good')
})

test('an upstream that says late what its answer depends on, and then something else: each client gets its own', async () => {
  const kinds = ['a', 'b', 'a', 'c', 'b']
  const first = await Promise.all(kinds.map(async (kind) => await see('vary', { 'x-kind': kind, 'x-other': '1' })))
  assert.deepEqual(
    first.map(({ status, text }) => `${status} ${text}`),
    kinds.map((kind) => `200 ${kind} 1`),
  )
  assert.equal(asked.get('vary'), 3)
  // One of a kind it has is answered from what it has; one that is new tells of another dependency, which holds from then on.
  assert.equal((await see('vary', { 'x-kind': 'b', 'x-other': '2' })).text, 'b 1')
  assert.equal((await see('vary', { 'x-kind': 'd', 'x-other': '1' })).text, 'd 1')
  assert.equal((await see('vary', { 'x-kind': 'd', 'x-other': '2' })).text, 'd 2')
  assert.equal((await see('vary', { 'x-kind': 'd', 'x-other': '1' })).text, 'd 1')
  assert.equal(asked.get('vary'), 5)
})
