/** A target that keeps failing is left alone, tried again with a few probes, and taken back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { slotOf } from '../src/metrics.ts'
import { TestService } from './harness.ts'
import { type Behaviour, signedProvider, TestNetwork } from './network.ts'

const WALL = 1_700_000_000_000
const finds: Behaviour = { does: 'find', afterMs: 1, providers: (cid) => [signedProvider(2, cid, WALL)] }
const fails: Behaviour = { does: 'fail', afterMs: 1 }

interface Row {
  readonly afterMs: number
  readonly peer: Behaviour
  readonly lookups: number
  /** What the breaker is in after the lookups and a sweep. */
  readonly state: 'closed' | 'open' | 'half-open'
  /** Whether the peer was asked at all. */
  readonly isAsked: boolean
}

/** One after the other; the window is 30 s, the cooldown 10 s, three probes, at least five outcomes. */
const TABLE: readonly Row[] = [
  { afterMs: 0, peer: finds, lookups: 6, state: 'closed', isAsked: true },
  // Three tries each: 6 of 12 outcomes failed, which is not above a half.
  { afterMs: 0, peer: fails, lookups: 2, state: 'closed', isAsked: true },
  { afterMs: 0, peer: fails, lookups: 1, state: 'open', isAsked: true },
  { afterMs: 5_000, peer: finds, lookups: 3, state: 'open', isAsked: false },
  { afterMs: 5_000, peer: finds, lookups: 0, state: 'half-open', isAsked: false },
  { afterMs: 0, peer: fails, lookups: 1, state: 'open', isAsked: true },
  { afterMs: 10_500, peer: finds, lookups: 2, state: 'half-open', isAsked: true },
  { afterMs: 0, peer: finds, lookups: 1, state: 'closed', isAsked: true },
]

test('the breaker of a target goes by the table', async () => {
  let peer: Behaviour = finds
  const network = new TestNetwork(() => [peer])
  const service = await TestService.start({ network })
  let count = 0
  for (const [at, row] of TABLE.entries()) {
    await service.sleep(row.afterMs)
    peer = row.peer
    const before = network.asked.length
    for (let lookup = 0; lookup < row.lookups; lookup += 1) {
      count += 1
      await service.ask('GET', `/providers/${addressOf(Buffer.from(String(count)))}`)
    }
    await service.sleep(150)
    assert.equal(service.parts.breakers.state('peer-0'), row.state, `row ${at + 1}`)
    assert.equal(network.asked.length > before, row.isAsked, `row ${at + 1}`)
  }
  const target = slotOf('peer-0')
  assert.equal(service.metric('breaker_open_total', { target }), 2)
  assert.equal(service.metric('breaker_state', { target, state: 'closed' }), 1)
  await service.stop()
})

test('probes that come at once never exceed the allowance', async () => {
  let peer: Behaviour = fails
  const network = new TestNetwork(() => [peer])
  const service = await TestService.start({ network })
  const ask = async (count: number) => await service.send('GET', `/providers/${addressOf(Buffer.from(String(count)))}`)
  await service.world.run(Promise.all([1, 2, 3].map(ask)))
  await service.sleep(11_000)
  assert.equal(service.parts.breakers.state('peer-0'), 'half-open')
  peer = finds
  const before = network.asked.length
  await service.world.run(Promise.all(Array.from({ length: 16 }, async (_, at) => await ask(100 + at))))
  assert.equal(network.asked.length - before, 3)
  await service.stop()
})

test('an open breaker is no dead end: another way takes its place at once', async () => {
  let first: Behaviour = fails
  const network = new TestNetwork(() => [first, finds])
  const config = { dht: { alpha: 1, beta: 1 } }
  const service = await TestService.start({ network, config })
  for (let count = 0; count < 6; count += 1) {
    await service.ask('GET', `/providers/${addressOf(Buffer.from(`first ${count}`))}`)
    await service.sleep(100)
  }
  assert.equal(service.parts.breakers.state('peer-0'), 'open')
  first = finds
  const startedAt = service.platform.clock.now()
  const answer = await service.ask('GET', `/providers/${addressOf(Buffer.from('second'))}`)
  assert.equal(answer.status, 200)
  assert.equal(Math.round(service.platform.clock.now() - startedAt), 1)
  assert.ok(service.metric('dht_errors_total', { kind: 'breaker' }) > 0)
  await service.stop()
})

test('a way that only hangs while others answer is a failure to its breaker', async () => {
  const network = new TestNetwork(() => [{ does: 'hang' }, finds])
  const service = await TestService.start({ network })
  for (let count = 0; count < 15; count += 1)
    assert.equal((await service.ask('GET', `/providers/${addressOf(Buffer.from(String(count)))}`)).status, 200)
  await service.sleep(150)
  assert.equal(service.parts.breakers.state('peer-0'), 'open')
  assert.equal(service.parts.breakers.state('peer-1'), 'closed')
  await service.stop()
})

test('a way that answers is not blamed for being slower than another', async () => {
  const slow: Behaviour = { does: 'nothing', afterMs: 400 }
  let fast: Behaviour = finds
  const network = new TestNetwork(() => [slow, fast])
  const service = await TestService.start({ network })
  for (let count = 0; count < 30; count += 1) {
    fast = count % 10 === 0 ? { does: 'nothing', afterMs: 1 } : finds
    await service.ask('GET', `/providers/${addressOf(Buffer.from(String(count)))}`)
  }
  await service.sleep(150)
  assert.equal(service.parts.breakers.state('peer-0'), 'closed')
  await service.stop()
})

test('targets have few labels, and the same one always', () => {
  const slots = new Set(Array.from({ length: 10_000 }, (_, at) => slotOf(`peer ${at}`)))
  assert.equal(slots.size, 64)
  assert.equal(slotOf('http:https://index.example.org/'), slotOf('http:https://index.example.org/'))
})
