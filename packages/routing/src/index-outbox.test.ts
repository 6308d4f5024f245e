import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError, canceled, sleep } from '@cairn/kernel'
import { leaks, type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import type { IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import { addressNamed, METRICS, Peer } from '../test/peer.ts'
import { IndexOutbox } from './index-outbox.ts'
import type { SignedProviderRecord } from './record.ts'

interface Refusal {
  readonly index: number
  readonly code: string
}

/** Another index: answers after 50 ms, as `answer` says. */
class OtherIndex implements Transport {
  readonly asked: { readonly request: OutgoingRequest; readonly records: readonly string[] }[] = []
  readonly #runtime: VirtualRuntime
  underWay = 0
  underWayMax = 0
  status = 200
  refused: readonly Refusal[] = []

  constructor(runtime: VirtualRuntime) {
    this.#runtime = runtime
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    const { records } = JSON.parse(Buffer.from(request.body as Uint8Array).toString()) as { records: string[] }
    this.asked.push({ request, records })
    this.underWay += 1
    this.underWayMax = Math.max(this.underWayMax, this.underWay)
    try {
      await sleep(this.#runtime.clock, 50, { signal: request.signal })
    } catch {
      throw canceled(request.signal ?? new AbortController().signal)
    } finally {
      this.underWay -= 1
    }
    const text = JSON.stringify({ accepted: records.length - this.refused.length, refused: this.refused })
    const status = this.status
    async function* body() {
      yield await Promise.resolve(Buffer.from(status === 200 ? text : 'no'))
    }
    return { status, headers: {}, body: { [Symbol.asyncIterator]: body, cancel: () => undefined } }
  }

  async close(): Promise<void> {}
}

const HOLDER = new Peer({ number: 1, url: 'https://storage.example.org' })
const RECORDS = Array.from({ length: 700 }, (_, at) => HOLDER.hold(addressNamed(`object ${at}`)))
const FOREVER = new AbortController().signal

function setup() {
  const runtime = virtualRuntime(1, METRICS)
  const other = new OtherIndex(runtime)
  const target = { url: new URL('https://index.example.org/base'), token: async () => await Promise.resolve('TOKEN') }
  const outbox = new IndexOutbox(runtime, other, target)
  const outcomes = { told: 0, failed: [] as string[] }
  const tell = (records: readonly SignedProviderRecord[], signal = FOREVER): void => {
    for (const record of records)
      outbox.announce(record, signal).then(
        () => {
          outcomes.told += 1
        },
        (error: unknown) => outcomes.failed.push(error instanceof CairnError ? error.code : 'other'),
      )
  }
  const counted = (result: string): number => runtime.metrics.value('provider_announce_total', { result })
  return { runtime, other, outbox, tell, outcomes, counted }
}

describe('telling another index', () => {
  test('takes as few requests as fit, one at a time, with the token and the budget', async () => {
    const { runtime, other, outbox, tell, outcomes, counted } = setup()
    tell(RECORDS.slice(0, 1))
    await runtime.clock.run(10)
    tell(RECORDS.slice(1))
    await runtime.clock.run(1000)
    assert.deepEqual(
      other.asked.map(({ records }) => records.length),
      [1, 256, 256, 187],
      'what comes while one is under way goes with the next',
    )
    assert.equal(other.underWayMax, 1)
    assert.deepEqual([outcomes.told, outcomes.failed], [700, []])
    assert.equal(counted('accepted'), 700)
    const [first] = other.asked
    assert.equal(first?.request.url.href, 'https://index.example.org/base/announce')
    assert.equal(first.request.headers['authorization'], 'Bearer TOKEN')
    assert.match(first.request.headers['request-timeout'] ?? '', /^14990ms$/)
    await outbox.close()
    assert.deepEqual(leaks(runtime), [])
  })

  test('hears which records were refused; one that is old news there is as good as told', async () => {
    const { runtime, other, tell, outcomes, counted } = setup()
    other.refused = [
      { index: 1, code: 'unreachable' },
      { index: 2, code: 'stale' },
    ]
    tell(RECORDS.slice(0, 4))
    await runtime.clock.run(100)
    assert.deepEqual([outcomes.told, outcomes.failed], [3, ['no_route']])
    assert.deepEqual([counted('accepted'), counted('refused')], [2, 2])
  })

  test('an index that does not answer is left alone for longer and longer, and asked again after that', async () => {
    const { runtime, other, tell, outcomes, counted } = setup()
    other.status = 503
    for (let second = 0; second < 600; second += 1) {
      tell(RECORDS.slice(0, 10))
      await runtime.clock.run(1000)
    }
    assert.ok(other.asked.length >= 8 && other.asked.length <= 12, `${other.asked.length} requests in ten minutes`)
    assert.equal(outcomes.told, 0)
    assert.equal(counted('failed'), other.asked.length * 10)
    other.status = 200
    await runtime.clock.run(300_000)
    tell(RECORDS.slice(0, 10))
    await runtime.clock.run(100)
    assert.equal(outcomes.told, 10)
  })

  test('no more waits than fits, and nothing is left when it closes', async () => {
    const { runtime, other, outbox, tell, outcomes } = setup()
    tell(Array.from({ length: 5000 }, (_, at) => RECORDS[at % 700]!))
    await runtime.clock.run(0)
    assert.equal(outcomes.failed.length, 5000 - 4096)
    const closing = outbox.close()
    await runtime.clock.run(0)
    await closing
    assert.equal(other.underWay, 0)
    assert.equal(outcomes.failed.length + outcomes.told, 5000)
    assert.equal(runtime.clock.pending(), 0)
  })

  test('whoever does not want to wait any more hears so at once', async () => {
    const { runtime, tell, outcomes } = setup()
    const leaving = new AbortController()
    tell(RECORDS.slice(0, 2), leaving.signal)
    await runtime.clock.run(10)
    leaving.abort(new CairnError('Canceled', 'Enough.'))
    await runtime.clock.run(0)
    assert.equal(outcomes.failed.length, 2)
    await runtime.clock.run(100)
  })
})
