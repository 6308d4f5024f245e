/** The reconciler against a stand-in of GitHub's API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CairnError, KERNEL_METRICS, MemoryLog, MemoryMetrics, SystemClock, systemRuntime } from '@cairn/kernel'
import { UndiciTransport } from '@cairn/platform'
import { INTEROP_METRICS } from '../../src/metrics.ts'
import { GithubDeliveries } from '../../src/reconcile/github-deliveries.ts'
import { Reconciler } from '../../src/reconcile/reconciler.ts'
import { type Delivered, FakeGithub } from './fake-github.ts'

const HOOK = 'repos/octo/hello/hooks/12345678'
const MINUTE = 60_000
const BIG = 12_345_678_901_234_567n

interface Scene extends AsyncDisposable {
  readonly github: FakeGithub
  readonly reconciler: Reconciler
  asked(): number
}

async function scene(): Promise<Scene> {
  const github = await FakeGithub.open()
  const metrics = new MemoryMetrics({ ...KERNEL_METRICS, ...INTEROP_METRICS })
  const runtime = systemRuntime(new MemoryLog(), metrics)
  const transport = new UndiciTransport(runtime)
  const api = new URL(github.url)
  const deliveries = new GithubDeliveries({ runtime, transport, api, hook: HOOK, token: 'ghp_secret' })
  return {
    github,
    reconciler: new Reconciler(runtime, deliveries),
    asked: () => metrics.value('redeliveries_asked_total'),
    async [Symbol.asyncDispose]() {
      await transport.close()
      await github[Symbol.asyncDispose]()
    },
  }
}

function delivery(number: number, status: number, minutesAgo: number, guid = `g${number}`): Delivered {
  return { id: BIG + BigInt(number), guid, at: new SystemClock().wall() - minutesAgo * MINUTE, status }
}

test('what failed is asked for by its whole id, what arrived is not, and the token goes to the API alone', async () => {
  await using it = await scene()
  it.github.deliveries = [
    delivery(5, 502, 2),
    delivery(4, 202, 3, 'same'),
    delivery(3, 202, 4),
    delivery(2, 500, 5, 'same'),
    delivery(1, 0, 6),
  ]
  assert.deepEqual(await it.reconciler.round(), { listed: 5, asked: 2 })
  assert.deepEqual(it.github.asked, [String(BIG + 1n), String(BIG + 5n)])
  assert.equal(it.asked(), 2)
  assert.deepEqual([...it.github.tokens], ['Bearer ghp_secret'])
  assert.equal(it.github.requests[0], `GET /api/v3/${HOOK}/deliveries?per_page=100`)
  assert.equal(it.github.requests[1], `POST /api/v3/${HOOK}/deliveries/${BIG + 1n}/attempts`)
})

test('pages are followed back to where all has arrived, and no further', async () => {
  await using it = await scene()
  const fine = Array.from({ length: 350 }, (_, at) => delivery(1000 - at, 202, 1 + at))
  it.github.deliveries = [...fine, delivery(1, 500, 400)]
  assert.deepEqual(await it.reconciler.round(), { listed: 351, asked: 1 })
  assert.equal(it.github.requests.filter((each) => each.startsWith('GET')).length, 4)
  it.github.deliveries = [delivery(2000, 202, 1, 'g1'), ...it.github.deliveries]
  assert.deepEqual(await it.reconciler.round(), { listed: 352, asked: 0 }, 'looked at again until it has arrived')
  it.github.requests.length = 0
  await it.reconciler.round()
  assert.equal(it.github.requests.length, 1, 'then only what is new')
})

test('what is older than GitHub would deliver is left alone; a round asks for twenty at most', async () => {
  await using it = await scene()
  const failed = Array.from({ length: 30 }, (_, at) => delivery(100 - at, 500, 10 + at))
  it.github.deliveries = [...failed, delivery(1, 500, 3 * 24 * 60 + 1)]
  assert.deepEqual(await it.reconciler.round(), { listed: 30, asked: 20 })
  assert.equal(it.github.asked[0], String(BIG + 71n), 'the oldest first')
})

test('a used-up budget ends the round and says when to come back', async () => {
  await using it = await scene()
  it.github.deliveries = [delivery(2, 500, 2), delivery(1, 500, 3)]
  const soon = Math.floor(new SystemClock().wall() / 1000) + 600
  it.github.headers = { 'x-ratelimit-remaining': '49', 'x-ratelimit-reset': String(soon) }
  const isPaced = (low: number, high: number) => (error: CairnError) =>
    error.kind === 'Paced' && error.retryAfterMs! >= low && error.retryAfterMs! <= high
  await assert.rejects(it.reconciler.round(), isPaced(590_000, 600_000))
  assert.deepEqual(it.github.asked, [])
  it.github.headers = {}
  it.github.failures.push({ status: 403, headers: { 'retry-after': '120' } })
  await assert.rejects(it.reconciler.round(), isPaced(120_000, 120_000))
  it.github.failures.push({ status: 429 })
  await assert.rejects(it.reconciler.round(), isPaced(60_000, 60_000))
  assert.deepEqual(await it.reconciler.round(), { listed: 2, asked: 2 })
})

test('a token that may not, and an API that fails, are told apart', async () => {
  await using it = await scene()
  it.github.failures.push({ status: 404 }, { status: 502 })
  await assert.rejects(it.reconciler.round(), (error: CairnError) => /what the token/.test(error.message))
  await assert.rejects(it.reconciler.round(), (error: CairnError) => error.code === 'upstream_failed')
})
