import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isKind } from '../errors.ts'
import { leaks, virtualRuntime } from '../runtime.ts'
import { Breakers } from './breaker.ts'
import * as core from './breaker-core.ts'

/** As many as the table keeps. */
const TARGETS = 1_024

const POLICY: core.BreakerPolicy = { windowMs: 1_000, threshold: 0.5, sample: 10, cooldownMs: 500, probes: 2 }

function recordMany(breaker: core.BreakerCore, outcomes: core.CallOutcome[], now: number): void {
  for (const outcome of outcomes) core.record(breaker, core.admit(breaker, now), outcome, now)
}

test('too few outcomes open nothing; the tenth does', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, new Array<core.CallOutcome>(9).fill('failed'), 0)
  assert.equal(breaker.state.tag, 'closed')
  recordMany(breaker, ['failed'], 0)
  assert.equal(breaker.state.tag, 'open')
})

test('an answer opens nothing, even one that makes the sample whole; the next failure does', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, [...new Array<core.CallOutcome>(9).fill('failed'), 'ok'], 0)
  assert.equal(breaker.state.tag, 'closed')
  recordMany(breaker, ['failed'], 0)
  assert.equal(breaker.state.tag, 'open')
})

test('failures that left the window no longer count', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, new Array<core.CallOutcome>(9).fill('failed'), 0)
  recordMany(breaker, [...new Array<core.CallOutcome>(9).fill('ok'), 'failed'], 1_000)
  assert.equal(breaker.state.tag, 'closed')
})

test('after the cooldown exactly the probes go out; all must succeed', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, new Array<core.CallOutcome>(10).fill('failed'), 0)
  core.tick(breaker, 499)
  assert.equal(core.admit(breaker, 499).tag, 'refused')
  core.tick(breaker, 500)
  const admissions = [1, 2, 3].map(() => core.admit(breaker, 500))
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
    recordMany(breaker, new Array<core.CallOutcome>(10).fill('failed'), 0)
    core.tick(breaker, 500)
    const probe = core.admit(breaker, 500)
    if (lost) core.tick(breaker, 1_000)
    else core.record(breaker, probe, 'failed', 600)
    assert.equal(breaker.state.tag, 'open')
  }
})

test('probes of an earlier round that answer late close nothing', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, new Array<core.CallOutcome>(10).fill('failed'), 0)
  core.tick(breaker, 500)
  const late = [core.admit(breaker, 500), core.admit(breaker, 500)]
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
      const outstanding: core.BreakerAdmission[] = []
      let now = 0
      let probes = 0
      for (const { kind, after } of steps) {
        const before = breaker.state.tag
        now += after
        if (kind === 'admit') {
          const admission = core.admit(breaker, now)
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
          if (before === 'closed') assert.equal(kind, 'failed')
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
  const [queue] = runtime.topology.snapshot()
  assert.deepEqual([queue?.name, Number(queue?.facts['lost']) > 1_000], ['breaker-outcomes', true])
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
  const breakers = new Breakers(runtime, { ...POLICY, sample: 1 }, { labelOf: () => 'slot' })
  breakers.admit('peer 1').report('failed')
  breakers.sweep()
  assert.equal(runtime.metrics.value('breaker_open_total', { target: 'slot' }), 1)
  assert.deepEqual([breakers.state('peer 1'), breakers.state('peer 2')], ['open', 'closed'])
  breakers.close()
})

test('without a policy of its own a breaker opens above half of ten in ten seconds, for five, and sends two probes', () => {
  const breaker = core.createBreaker(core.BREAKER_DEFAULT)
  recordMany(breaker, ['ok', 'ok', 'ok', 'ok', ...new Array<core.CallOutcome>(5).fill('failed')], 0)
  assert.equal(breaker.state.tag, 'closed')
  recordMany(breaker, ['failed'], 9_999)
  assert.deepEqual(breaker.state, { tag: 'open', until: 14_999 })
  core.tick(breaker, 14_999)
  assert.deepEqual(breaker.state, { tag: 'half-open', probesLeft: 2, ok: 0, out: [] })
})

test('the window moves by tenths: an outcome counts until its tenth has left it', () => {
  const tags = [900, 999, 1_000, 1_100].map((now) => {
    const breaker = core.createBreaker(POLICY)
    recordMany(breaker, new Array<core.CallOutcome>(5).fill('failed'), 50)
    recordMany(breaker, new Array<core.CallOutcome>(4).fill('failed'), 450)
    recordMany(breaker, ['failed'], now)
    return breaker.state.tag
  })
  assert.deepEqual(tags, ['open', 'open', 'closed', 'closed'])
})

test('a breaker keeps no more than the tenths of one window', () => {
  const breaker = core.createBreaker(POLICY)
  for (let now = 0; now < 10_000; now += 100) recordMany(breaker, ['ok'], now)
  assert.equal(breaker.slices.length, 10)
})

test('time changes nothing in a closed breaker, nor in a half-open one whose probes all answered', () => {
  const breaker = core.createBreaker(POLICY)
  core.tick(breaker, 1_000_000)
  assert.deepEqual(breaker.state, { tag: 'closed' })
  recordMany(breaker, new Array<core.CallOutcome>(10).fill('failed'), 0)
  core.record(breaker, { tag: 'pass', round: breaker.round }, 'ok', 1)
  assert.equal(breaker.state.tag, 'open')
  core.tick(breaker, 500)
  core.record(breaker, core.admit(breaker, 505), 'ok', 510)
  core.tick(breaker, 999)
  core.tick(breaker, 5_000)
  assert.deepEqual(breaker.state, { tag: 'half-open', probesLeft: 1, ok: 1, out: [] })
})

test('outcomes that found no room are counted once', () => {
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime, { ...POLICY, sample: 1_030 })
  const passages = Array.from({ length: 1_029 }, () => breakers.admit('peer'))
  for (const passage of passages) passage.report('failed')
  for (let time = 0; time < 3; time += 1) breakers.sweep()
  assert.equal(breakers.state('peer'), 'closed')
  breakers.close()
})

test('each change of state is a line in the log and moves the gauge', () => {
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime, { ...POLICY, sample: 1 })
  breakers.admit('peer').report('failed')
  breakers.sweep()
  breakers.sweep()
  runtime.clock.advance(500)
  breakers.sweep()
  assert.deepEqual(runtime.log.lines, [
    { level: 'info', fields: { target: 'peer', before: 'closed', after: 'open' }, message: 'breaker changed state' },
    { level: 'info', fields: { target: 'peer', before: 'open', after: 'half-open' }, message: 'breaker changed state' },
  ])
  const gauges = ['closed', 'open', 'half-open'].map((state) =>
    runtime.metrics.value('breaker_state', { target: 'peer', state }),
  )
  assert.deepEqual(gauges, [0, 0, 1])
  breakers.close()
})

test('a probe has a whole cooldown to answer, from when it went out: however long nobody asked', () => {
  for (const askedAt of [500, 10_000]) {
    const breaker = core.createBreaker(POLICY)
    recordMany(breaker, new Array<core.CallOutcome>(10).fill('failed'), 0)
    core.tick(breaker, 500)
    assert.equal(core.admit(breaker, askedAt).tag, 'probe')
    core.tick(breaker, askedAt + 499)
    assert.equal(breaker.state.tag, 'half-open')
    core.tick(breaker, askedAt + 500)
    assert.equal(breaker.state.tag, 'open')
  }
})

test('an answered probe does not wait for another: each has its own time', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, new Array<core.CallOutcome>(10).fill('failed'), 0)
  core.tick(breaker, 500)
  core.record(breaker, core.admit(breaker, 500), 'ok', 505)
  core.tick(breaker, 5_000)
  const second = core.admit(breaker, 5_000)
  core.tick(breaker, 5_100)
  core.record(breaker, second, 'ok', 5_105)
  assert.equal(breaker.state.tag, 'closed')
})

test('what we did not wait for counts for nothing, and its probe is given back', () => {
  const breaker = core.createBreaker(POLICY)
  recordMany(breaker, new Array<core.CallOutcome>(9).fill('failed'), 0)
  recordMany(breaker, new Array<core.CallOutcome>(50).fill('abandoned'), 0)
  assert.equal(breaker.state.tag, 'closed')
  recordMany(breaker, ['failed'], 0)
  core.tick(breaker, 500)
  for (let time = 0; time < 5; time += 1) recordMany(breaker, ['abandoned', 'abandoned'], 510)
  assert.match(breaker.state.tag, /^half-open$/)
  recordMany(breaker, ['ok', 'ok'], 520)
  assert.equal(breaker.state.tag, 'closed')
})

test('half of the calls may fail, and what failed before the breaker closed is forgotten', () => {
  const breaker = core.createBreaker(POLICY)
  const half = [...new Array<core.CallOutcome>(5).fill('ok'), ...new Array<core.CallOutcome>(5).fill('failed')]
  recordMany(breaker, half, 0)
  assert.equal(breaker.state.tag, 'closed')
  recordMany(breaker, ['failed'], 0)
  core.tick(breaker, 500)
  recordMany(breaker, ['ok', 'ok'], 510)
  assert.equal(breaker.state.tag, 'closed')
  recordMany(breaker, ['failed'], 520)
  assert.equal(breaker.state.tag, 'closed')
})

test('who is refused is told to come back when the pause is over, or soon while probes are out', () => {
  const runtime = virtualRuntime()
  const breakers = new Breakers(runtime, { ...POLICY, sample: 1, probes: 1 })
  const wait = (): number | undefined => {
    try {
      breakers.admit('peer').report('failed')
    } catch (error) {
      return isKind(error, 'BreakerOpen') ? error.retryAfterMs : -1
    }
    return undefined
  }
  assert.equal(wait(), undefined)
  breakers.sweep()
  runtime.clock.advance(200)
  assert.equal(wait(), 300)
  runtime.clock.advance(300)
  breakers.sweep()
  breakers.admit('peer')
  assert.equal(wait(), 100)
  assert.equal(runtime.metrics.value('breaker_open_total', { target: 'peer' }), 1)
  breakers.close()
})

test('of too many targets the one that was asked for longest ago is forgotten', () => {
  const breakers = new Breakers(virtualRuntime(), { ...POLICY, sample: 1 })
  for (const target of ['kept', 'forgotten']) breakers.admit(target).report('failed')
  breakers.sweep()
  for (let target = 0; target < TARGETS - 2; target += 1) breakers.admit(`peer-${target}`)
  assert.throws(() => breakers.admit('kept'))
  assert.deepEqual([breakers.state('kept'), breakers.state('forgotten')], ['open', 'open'])
  breakers.admit('one more')
  assert.deepEqual([breakers.state('kept'), breakers.state('forgotten')], ['open', 'closed'])
  breakers.close()
})
