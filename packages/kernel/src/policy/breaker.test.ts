import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isKind } from '../errors.ts'
import { leaks, virtualRuntime } from '../runtime.ts'
import { Breakers } from './breaker.ts'
import * as core from './breaker-core.ts'

const POLICY: core.BreakerPolicy = { windowMs: 1_000, threshold: 0.5, sample: 10, cooldownMs: 500, probes: 2 }

function recordMany(breaker: core.BreakerCore, outcomes: core.Outcome[], now: number): void {
  for (const outcome of outcomes) core.record(breaker, core.admit(breaker), outcome, now)
}

test('too few outcomes open nothing; the tenth does', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, new Array<core.Outcome>(9).fill('failed'), 0)
  assert.equal(breaker.state.tag, 'closed')
  recordMany(breaker, ['failed'], 0)
  assert.equal(breaker.state.tag, 'open')
})

test('failures that left the window no longer count', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, new Array<core.Outcome>(9).fill('failed'), 0)
  recordMany(breaker, [...new Array<core.Outcome>(9).fill('ok'), 'failed'], 1_000)
  assert.equal(breaker.state.tag, 'closed')
})

test('after the cooldown exactly the probes go out; all must succeed', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, new Array<core.Outcome>(10).fill('failed'), 0)
  core.tick(breaker, 499)
  assert.equal(core.admit(breaker).tag, 'refused')
  core.tick(breaker, 500)
  const admissions = [core.admit(breaker), core.admit(breaker), core.admit(breaker)]
  assert.deepEqual(
    admissions.map(({ tag }) => tag),
    ['probe', 'probe', 'refused'],
  )
  core.record(breaker, admissions[0]!, 'ok', 510)
  assert.equal(breaker.state.tag, 'half-open')
  core.record(breaker, admissions[1]!, 'ok', 520)
  assert.equal(breaker.state.tag, 'closed')
})

test('one failed probe opens again; a probe nobody reports does so at the next cooldown', () => {
  for (const lost of [false, true]) {
    const breaker = core.createBreaker(POLICY)
    recordMany(breaker, new Array<core.Outcome>(10).fill('failed'), 0)
    core.tick(breaker, 500)
    const probe = core.admit(breaker)
    if (lost) core.tick(breaker, 1_000)
    else core.record(breaker, probe, 'failed', 600)
    assert.equal(breaker.state.tag, 'open')
  }
})

test('probes of an earlier round that answer late close nothing', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, new Array<core.Outcome>(10).fill('failed'), 0)
  core.tick(breaker, 500)
  const late = [core.admit(breaker), core.admit(breaker)]
  core.tick(breaker, 1_000)
  core.tick(breaker, 1_500)
  assert.equal(breaker.state.tag, 'half-open')
  for (const probe of late) core.record(breaker, probe, 'ok', 1_510)
  assert.equal(breaker.state.tag, 'half-open')
})

test('never more probes than configured, and only legal transitions, over any run', () => {
  const legal = new Set(['closed open', 'open half-open', 'half-open closed', 'half-open open'])
  const step = fc.record({ kind: fc.constantFrom('admit', 'ok', 'failed', 'tick'), after: fc.nat(300) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const breaker = core.createBreaker({ ...POLICY, sample: 3 })
      const outstanding: core.Admission[] = []
      let now = 0
      let probes = 0
      for (const { kind, after } of steps) {
        const before = breaker.state.tag
        now += after
        if (kind === 'admit') {
          const admission = core.admit(breaker)
          if (admission.tag !== 'refused') outstanding.push(admission)
          if (admission.tag === 'probe') probes += 1
        } else if (kind === 'tick') core.tick(breaker, now)
        else {
          const admission = outstanding.shift()
          if (admission !== undefined) core.record(breaker, admission, kind === 'ok' ? 'ok' : 'failed', now)
        }
        const { tag } = breaker.state
        if (tag !== before) {
          assert.ok(legal.has(`${before} ${tag}`), `${before} → ${tag}`)
          probes = 0
        }
        assert.ok(probes <= POLICY.probes)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('the table is written by its janitor only: outcomes count at the next sweep', async () => {
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime, POLICY)
  for (let call = 0; call < 10; call += 1)
    await assert.rejects(
      breakers.run('peer', async () => await Promise.reject(new Error('down'))),
      /down/,
    )
  assert.equal(breakers.state('peer'), 'closed')
  breakers.sweep()
  assert.equal(breakers.state('peer'), 'open')
  assert.throws(
    () => breakers.admit('peer'),
    (error) => isKind(error, 'BreakerOpen') && error.retryAfterMs === 500,
  )
  assert.equal(breakers.state('another'), 'closed')
  assert.equal(runtime.metrics.value('breaker_open_total', { target: 'peer' }), 1)
  assert.equal(runtime.metrics.value('breaker_state', { target: 'peer', state: 'open' }), 1)
  breakers.close()
})

test('the janitor brings a healed target back, and ends with its signal', async () => {
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime, POLICY)
  const controller = new AbortController()
  const janitor = breakers.janitor(controller.signal)
  for (let call = 0; call < 10; call += 1) breakers.admit('peer')[Symbol.dispose]()
  await runtime.clock.run(100)
  assert.equal(breakers.state('peer'), 'open')
  await runtime.clock.run(600)
  assert.equal(breakers.state('peer'), 'half-open')
  for (let probe = 0; probe < 2; probe += 1)
    assert.equal(await breakers.run('peer', async () => await Promise.resolve('up')), 'up')
  await runtime.clock.run(100)
  assert.equal(breakers.state('peer'), 'closed')
  controller.abort()
  await assert.rejects(janitor, (error) => isKind(error, 'Canceled'))
  breakers.close()
  assert.deepEqual(leaks(runtime), [])
})

test('outcomes beyond what the queue holds count as failures', () => {
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime, POLICY)
  const passages = Array.from({ length: 3_000 }, () => breakers.admit('peer'))
  for (const passage of passages) passage.report('ok')
  breakers.sweep()
  assert.equal(breakers.state('peer'), 'open')
  breakers.close()
})

test('the table stays bounded however many targets there are', () => {
  const breakers = new Breakers(virtualRuntime(), POLICY)
  for (let target = 0; target < 5_000; target += 1) breakers.admit(`peer-${target}`)[Symbol.dispose]()
  breakers.sweep()
  breakers.close()
  assert.equal(breakers.state('peer-0'), 'closed')
})

test('a target is shown under its label, and has its breaker to itself', () => {
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime, { ...POLICY, sample: 1 }, () => 'slot')
  breakers.admit('peer 1').report('failed')
  breakers.sweep()
  assert.equal(runtime.metrics.value('breaker_open_total', { target: 'slot' }), 1)
  assert.deepEqual([breakers.state('peer 1'), breakers.state('peer 2')], ['open', 'closed'])
  breakers.close()
})
