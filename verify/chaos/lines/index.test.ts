/**
 * Index, §10: drop α peer mid-flight; confirm hedge β wins and cancels α. Flood with per-IP connections; confirm per-IP
 * limit + rate-limit + fair rejections.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { Config } from '@cairn/kernel'
import { delegatedJson, providerOf } from '@cairn/routing'
import { signRecord } from '@cairn/routing/testing'
import { addressOf } from '@cairn/wire'
import { type IndexConfig, indexSection } from '../../../services/index/src/config.ts'
import { startIndex } from '../../../services/index/src/main.ts'
import { INDEX_METRICS } from '../../../services/index/src/metrics.ts'
import { ask, eventually, fieldsOf, RealPlace } from './real-place.ts'

const CID = addressOf(Buffer.from('an object'))
const FLOODER = '127.0.0.2'
const NEIGHBOUR = '127.0.0.3'

async function openIndex(place: RealPlace, config: object): Promise<URL> {
  const values = indexSection.parse({ bind_addr: '127.0.0.1:0', ...config })
  const identitySeed = new Uint8Array(32).fill(1)
  const host = { ...place.host('index'), identitySeed, config: new Config<IndexConfig>({ values, origins: {} }) }
  const { running } = await startIndex(host)
  place.onClose(async () => await running.stop())
  await running.health.readiness.until(({ ready }) => ready)
  return new URL(running.urls[0] ?? '')
}

/** An index that knows who holds everything, behind weather; it says which questions were broken off. */
async function startPeer(place: RealPlace, holder: number) {
  const { crypto, clock } = place.platform
  const claim = { cid: CID, http: ['https://example.org'], seq: 1, exp: Math.floor(clock.wall() / 1000) + 3600 }
  const record = signRecord(crypto, new Uint8Array(32).fill(holder), claim)
  return await place.serve((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(delegatedJson([providerOf(record, clock.wall())])))
  })
}

test('index: a peer of the first wave is dropped in mid-flight: the second wave wins, and what is left of the first is cut', async () => {
  await using place = await RealPlace.open(INDEX_METRICS)
  const peers = await Promise.all([11, 12, 13].map(async (holder) => await startPeer(place, holder)))
  const [dropped, silent, quick] = peers
  assert.ok(dropped !== undefined && silent !== undefined && quick !== undefined)
  const url = await openIndex(place, {
    dht: {
      kad: false,
      alpha: 2,
      beta: 1,
      hedge: '300ms',
      endpoints: peers.map((peer) => peer.url.href),
      deadline: '10s',
    },
  })
  dropped.weather = { tag: 'stall' }
  silent.weather = { tag: 'stall' }
  const asked = ask(new URL(`/resolve/${CID}`, url))
  await eventually(
    () => dropped.connections.open + silent.connections.open,
    (open) => open === 2,
  )
  // Its answer would come; the connection does not live to see it.
  dropped.weather = { tag: 'reset' }
  const answer = await asked
  assert.equal(answer.status, 200, answer.body.toString())
  assert.equal(quick.connections.accepted, 1)
  assert.equal(place.metrics.value('dht_hedged_requests_total', { result: 'win' }), 1)
  await eventually(
    () => silent.connections.open,
    (open) => open === 0,
  )
})

/** Connections that say nothing, from one address. */
async function crowd(url: URL, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect({ port: Number(url.port), host: '127.0.0.1', localAddress: FLOODER })
    socket.on('error', () => undefined)
    return socket
  })
  for (const socket of sockets) if (socket.connecting) await once(socket, 'connect')
  return sockets
}

test('index: one address with more connections than it may have is told so, then cut; the next address is served', async () => {
  await using place = await RealPlace.open(INDEX_METRICS)
  const url = await openIndex(place, { dht: { kad: false } })
  const sockets = await crowd(url, 256 + 16 + 20)
  const refused = (): number => place.metrics.value('connections_refused_total', { reason: 'address' })
  await eventually(refused, (count) => count === 20)
  const cut = (): number => sockets.filter(({ closed }) => closed).length
  await eventually(cut, (count) => count === 20)
  // Those past the limit, but within what is kept for it, hear why; those before it are served.
  const last = sockets.filter(({ closed }) => !closed).at(-1)
  assert.ok(last !== undefined)
  last.write('GET /resolve/name:x HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [told] = (await once(last, 'data')) as [Buffer]
  assert.match(told.toString(), /^HTTP\/1\.1 429 .*\r\n(?:.*\r\n)*Retry-After: \d+/i)
  const [first] = sockets
  first?.write('GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n')
  assert.match(((await once(first!, 'data')) as [Buffer])[0].toString(), /^HTTP\/1\.1 200 /)
  assert.equal((await ask(new URL('/providers/x', url), { from: NEIGHBOUR })).status, 400)
  for (const socket of sockets) socket.destroy()
})

test('index: one address that asks too often is refused with a time to come back; another is not', async () => {
  await using place = await RealPlace.open(INDEX_METRICS)
  const config = { dht: { kad: false }, ingress: { max_rps_per_address: 1, burst_per_address: 5 } }
  const url = await openIndex(place, config)
  const statuses = { [FLOODER]: [] as number[], [NEIGHBOUR]: [] as number[] }
  const asking = async (from: keyof typeof statuses): Promise<void> => {
    const told = await ask(new URL(`/resolve/${CID}`, url), { from })
    statuses[from].push(told.status)
    if (told.status !== 429) return
    assert.equal(fieldsOf(told)['code'], 'over_capacity')
    assert.ok(Number(told.headers['retry-after']) >= 1)
  }
  await Promise.all(Array.from({ length: 40 }, async () => await asking(FLOODER)))
  for (let time = 0; time < 4; time += 1) await asking(NEIGHBOUR)
  assert.deepEqual(statuses[NEIGHBOUR], [404, 404, 404, 404])
  assert.ok(statuses[FLOODER].filter((status) => status === 429).length >= 30)
})
