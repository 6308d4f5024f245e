import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cancel, type TaskBody, type TaskContext } from '@cairn/kernel'
import { type Answer } from '../../../verify/virtual/answer.ts'
import type { Upstream } from './fake-upstream.ts'
import { isProblem, LIVE, TestEdge } from './harness.ts'

const FRESH = { 'cache-control': 'max-age=60' }
const PATH = '/edge/assets/u/up'
const slow: Upstream = () => ({ headers: FRESH, body: ['x'], afterMs: 4000 })
/** Clients so patient that the line is full before waiting in it is too long. */
const CROWD = {
  ...LIVE,
  workers: 8,
  fill_body_timeout: '20m',
  ingress: { max_rps: 0, max_inflight: 2000, max_streams: 2000, request_timeout: '20m' },
}

function crowd(edge: TestEdge, count: number, from = 0): Promise<Answer>[] {
  return Array.from({ length: count }, async (_, at) => await edge.send('GET', `${PATH}/${from + at}`))
}

test('a full line is 429 with a time computed from it, and /readyz says so until it is over', async () => {
  const edge = await TestEdge.start({ config: CROWD, upstream: slow })
  const waiting = crowd(edge, 8 + 512)
  await edge.sleep(10)
  assert.equal((await edge.get('/readyz')).status, 200)
  const refused = await edge.get(`${PATH}/more`)
  isProblem(refused, 429, 'rate_limit')
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  assert.equal(edge.metric('edge_rejects_total', { reason: 'rate_limit' }), 1)
  assert.equal(edge.metric('busy_rejections_total', { endpoint: '/edge/assets/u/:route/*' }), 1)
  await edge.sleep(10)
  const ready = await edge.get('/readyz')
  assert.deepEqual(
    [ready.status, ready.fields()['degraded'], ready.fields()['missing']],
    [503, true, ['shedder_stable']],
  )
  assert.equal((await edge.get(`${PATH}/0?hit`)).status, 429)
  await edge.world.run(Promise.all(waiting))
  await edge.sleep(1000)
  assert.equal((await edge.get('/readyz')).status, 200)
  await edge.stop()
})

/** As shipped, but for the rate: that is judged before anything else, and refuses most of such a crowd by itself. */
const SHIPPED = { ...LIVE, ingress: { max_rps: 0 } }

async function statusesOf(edge: TestEdge, answers: readonly Promise<Answer>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { status } of await edge.world.run(Promise.all(answers))) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

test('at the shipped limits no miss waits for a 504: those that would be too late are refused, and /readyz says so', async () => {
  const upstream: Upstream = () => ({ headers: FRESH, body: ['x'], afterMs: 3000 })
  const edge = await TestEdge.start({ config: SHIPPED, upstream })
  const begun = edge.platform.clock.now()
  const refusedAt: number[] = []
  const crowded = crowd(edge, 1200).map(async (answer) => {
    const given = await answer
    if (given.status === 429) refusedAt.push(edge.platform.clock.now() - begun)
    return given
  })
  await edge.sleep(50)
  const ready = await edge.get('/readyz')
  assert.deepEqual([ready.status, ready.fields()['missing']], [503, ['shedder_stable']])
  assert.deepEqual(await statusesOf(edge, crowded), { 200: 64, 429: 1200 - 64 })
  assert.ok(refusedAt.filter((ms) => ms === 0).length > 800, 'most are refused at once')
  assert.ok(Math.max(...refusedAt) < 3000, 'the rest as soon as the upstream shows that it is slow')
  await edge.sleep(1000)
  assert.equal((await edge.get('/readyz')).status, 200)
  await edge.stop()
})

test('what is known of an upstream decides at once: of a crowd on a slow one only those who wait for no worker stay', async () => {
  const upstream: Upstream = () => ({ headers: FRESH, body: ['x'], afterMs: 3000 })
  const edge = await TestEdge.start({ config: SHIPPED, upstream })
  await edge.get(`${PATH}/first`)
  const answers = crowd(edge, 300)
  const refusals = await edge.world.run(Promise.all(answers.slice(200)))
  for (const refused of refusals) {
    isProblem(refused, 429, 'rate_limit')
    assert.ok(Number(refused.headers['retry-after']) >= 1)
  }
  await edge.world.run(Promise.all(answers))
  await edge.stop()
})

test('a client with little time is refused while one with more is not', async () => {
  const upstream: Upstream = () => ({ headers: FRESH, body: ['x'], afterMs: 1000 })
  const edge = await TestEdge.start({ config: { ...SHIPPED, workers: 8 }, upstream })
  const waiting = crowd(edge, 8)
  await edge.sleep(10)
  const hasty = await edge.get(`${PATH}/hasty`, { 'request-timeout': '900ms' })
  isProblem(hasty, 429, 'rate_limit')
  assert.equal((await edge.get(`${PATH}/patient`)).status, 200)
  await edge.world.run(Promise.all(waiting))
  await edge.stop()
})

test('requests in flight that are refused count as shedding', async () => {
  const edge = await TestEdge.start({ config: { ...LIVE, ingress: { max_rps: 0, max_inflight: 4 } }, upstream: slow })
  const waiting = crowd(edge, 5)
  await edge.sleep(10)
  assert.deepEqual((await edge.get('/readyz')).fields()['missing'], ['shedder_stable'])
  assert.deepEqual(await statusesOf(edge, waiting), { 200: 4, 429: 1 })
  await edge.sleep(1000)
  assert.equal((await edge.get('/readyz')).status, 200)
  await edge.stop()
})

test('a rate that is refused is not shedding: another node would not help', async () => {
  const edge = await TestEdge.start({ config: { ...LIVE, ingress: { max_rps: 1, burst: 1 } }, upstream: slow })
  const waiting = crowd(edge, 5)
  await edge.sleep(200)
  assert.equal((await edge.get('/readyz')).status, 200)
  assert.deepEqual(await statusesOf(edge, waiting), { 200: 1, 429: 4 })
  await edge.stop()
})

/** Workers that end with an error when told to, and what they had in hand with them. */
function mortal(kill: AbortController, isMortal: (name: string) => boolean): (body: TaskBody) => TaskBody {
  return (body) => async (context: TaskContext) => {
    if (!isMortal(context.name) || kill.signal.aborted) return await body(context)
    using both = new Cancel({ signals: [context.aborting, kill.signal] })
    try {
      await body({ ...context, aborting: both.signal })
    } catch (cause) {
      throw context.aborting.aborted ? cause : new TypeError('The worker crashed.', { cause })
    }
  }
}

test('half of the workers crash under load: degraded while shedding, ready within a second of their return', async () => {
  const kill = new AbortController()
  const isMortal = (name: string): boolean => Number(name.split('-').at(-1)) % 2 === 0
  const upstream: Upstream = () => ({ headers: FRESH, body: ['x'], afterMs: 20 })
  const edge = await TestEdge.start({ config: CROWD, upstream, worker: mortal(kill, isMortal) })
  const answers: Answer[] = []
  const state = { isOver: false, next: 0 }
  const client = async (): Promise<void> => {
    while (!state.isOver) {
      state.next += 1
      answers.push(await edge.send('GET', `${PATH}/${state.next}`))
      await edge.world.sleep(1)
    }
  }
  const clients = Array.from({ length: 540 }, client)
  await edge.sleep(200)
  kill.abort()
  await edge.sleep(20)
  const degraded = await edge.get('/readyz')
  assert.deepEqual([degraded.status, degraded.fields()['missing']], [503, ['shedder_stable']])
  state.isOver = true
  await edge.world.run(Promise.all(clients))
  // They are started again after a pause of 50 to 100 ms, which has passed.
  const relaunchedAt = edge.platform.clock.now()
  while ((await edge.get('/readyz')).status !== 200) await edge.sleep(20)
  assert.ok(edge.platform.clock.now() - relaunchedAt <= 1000)
  assert.equal(edge.metric('service_restarts_total', { kind: 'fill-worker' }), 4)
  assert.equal(edge.metric('tasks_panicked_total', { kind: 'fill-worker' }), 4)
  for (const { status } of answers) assert.ok([200, 429, 503].includes(status), String(status))
  assert.equal(edge.parts.fills.flying, 0)
  await edge.stop()
})

test('a deadline of the client is a 504, and the fill ends with its last client', async () => {
  const edge = await TestEdge.start({ upstream: slow })
  const begun = edge.platform.clock.now()
  isProblem(await edge.get(`${PATH}/a`, { 'request-timeout': '500ms' }), 504, 'timeout')
  assert.equal(Math.round(edge.platform.clock.now() - begun), 500)
  await edge.sleep(10)
  assert.equal(edge.parts.fills.flying, 0)
  await edge.stop()
})

test('drain: what is under way ends well, what comes is 503 draining, and nothing is left', async () => {
  const upstream: Upstream = () => ({ headers: FRESH, body: ['first', 1000, 'last'], afterMs: 500 })
  const edge = await TestEdge.start({ upstream })
  const waiting = crowd(edge, 5)
  await edge.sleep(100)
  const stopping = edge.stop()
  await edge.world.clock.settle()
  isProblem(await edge.send('GET', `${PATH}/late`), 503, 'draining')
  assert.equal((await edge.send('GET', '/readyz')).status, 503)
  assert.equal((await edge.send('GET', '/healthz')).status, 200)
  for (const answer of await Promise.all(waiting)) assert.equal(answer.body.toString(), 'firstlast')
  await stopping
})

test('drain: a refresh that nobody waits for is given up at once', async () => {
  const headers = { 'cache-control': 'max-age=1, stale-while-revalidate=30' }
  const upstream: Upstream = (_request, count) => (count === 1 ? { headers, body: ['x'] } : { fails: 'silence' })
  const edge = await TestEdge.start({ upstream })
  await edge.get(`${PATH}/a`)
  await edge.sleep(2000)
  assert.equal((await edge.get(`${PATH}/a`)).status, 200)
  assert.equal(edge.parts.fills.flying, 1)
  const begun = edge.platform.clock.now()
  await edge.stop()
  assert.ok(edge.platform.clock.now() - begun < 100)
})

test('drain: past its deadline stragglers are broken off, counted, and nothing of them is kept', async () => {
  const upstream: Upstream = () => ({ headers: FRESH, body: ['first', 4500, 'last'] })
  const edge = await TestEdge.start({ upstream })
  const waiting = crowd(edge, 2)
  await edge.sleep(100)
  const report = await edge.world.run(edge.running.stop())
  // The two with a fill in hand; the idle ones only end.
  assert.equal(report.aborted.filter((name) => name.startsWith('fill-worker')).length, 2)
  assert.equal(edge.metric('tasks_aborted_total', { kind: 'fill-worker' }), 2)
  for (const { broken } of await edge.world.run(Promise.all(waiting))) assert.notEqual(broken, undefined)
  await edge.world.run(edge.platform.workers.close())
})
