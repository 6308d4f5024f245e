import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '../clock.ts'
import { leaks, type VirtualRuntime, virtualRuntime } from '../runtime.ts'
import { type HedgeLeg, hedge } from './hedge.ts'
import { createHedge, delayOver, legFailed, legSatisfied } from './hedge-core.ts'

interface Call {
  readonly name: string
  readonly at: number
  ended: string
}

/** A leg that answers or fails after a time, and records when it was sent and how it ended. */
function legs(runtime: VirtualRuntime): {
  leg: (name: string, ms: number, answer?: string) => HedgeLeg<string>
  calls: Call[]
} {
  const calls: Call[] = []
  const leg = (name: string, ms: number, answer?: string): HedgeLeg<string> => {
    return async (signal) => {
      const call: Call = { name, at: runtime.clock.now(), ended: '' }
      calls.push(call)
      try {
        await sleep(runtime.clock, ms, { signal })
      } catch (error) {
        call.ended = 'aborted'
        throw error
      }
      call.ended = answer ?? 'failed'
      if (answer === undefined) throw new Error(`${name} failed`)
      return answer
    }
  }
  return { leg, calls }
}

test('a first leg that answers in time is all that is ever sent', async () => {
  const runtime = virtualRuntime()
  const { leg, calls } = legs(runtime)
  const result = hedge(runtime.clock, {
    first: [leg('a1', 20, 'x'), leg('a2', 90, 'y')],
    second: [leg('b1', 1, 'z')],
    delayMs: 150,
  })
  await runtime.clock.run(1_000)
  assert.deepEqual(await result, { answer: 'x', leg: 0, hedged: false })
  assert.deepEqual(
    calls.map(({ name, ended }) => `${name} ${ended}`),
    ['a1 x', 'a2 aborted'],
  )
  assert.deepEqual(leaks(runtime), [])
})

test('slow first legs are hedged at the delay, and an early failure does not win', async () => {
  const runtime = virtualRuntime()
  const { leg, calls } = legs(runtime)
  const result = hedge(runtime.clock, {
    first: [leg('a1', 900, 'late'), leg('a2', 10)],
    second: [leg('b1', 30, 'z')],
    delayMs: 150,
  })
  await runtime.clock.run(2_000)
  assert.deepEqual(await result, { answer: 'z', leg: 2, hedged: true })
  assert.deepEqual(
    calls.map(({ name, at, ended }) => `${name}@${at} ${ended}`),
    ['a1@0 aborted', 'a2@0 failed', 'b1@150 z'],
  )
  assert.deepEqual(leaks(runtime), [])
})

test('when every first leg has failed the second is sent at once', async () => {
  const runtime = virtualRuntime()
  const { leg, calls } = legs(runtime)
  const result = hedge(runtime.clock, {
    first: [leg('a1', 5), leg('a2', 7)],
    second: [leg('b1', 30, 'z')],
    delayMs: 150,
  })
  await runtime.clock.run(1_000)
  assert.equal((await result).answer, 'z')
  assert.equal(calls.find(({ name }) => name === 'b1')?.at, 7)
})

test('an answer that does not satisfy is a failure', async () => {
  const runtime = virtualRuntime()
  const { leg } = legs(runtime)
  const satisfies = (answer: string): boolean => answer !== 'empty'
  const result = hedge(runtime.clock, {
    first: [leg('a1', 5, 'empty')],
    second: [leg('b1', 5, 'full')],
    delayMs: 150,
    satisfies,
  })
  await runtime.clock.run(1_000)
  assert.equal((await result).answer, 'full')
})

test('when every leg fails all the reasons come back together', async () => {
  const runtime = virtualRuntime()
  const { leg } = legs(runtime)
  const result = hedge(runtime.clock, { first: [leg('a1', 5)], second: [leg('b1', 5)], delayMs: 150 })
  const check = assert.rejects(
    result,
    (error: AggregateError) => error.errors.map(String).join() === 'Error: a1 failed,Error: b1 failed',
  )
  await runtime.clock.run(1_000)
  await check
  assert.deepEqual(leaks(runtime), [])
})

test('the caller leaving aborts every leg and waits for them', async () => {
  const runtime = virtualRuntime()
  const { leg, calls } = legs(runtime)
  const controller = new AbortController()
  const result = hedge(runtime.clock, {
    first: [leg('a1', 500, 'x')],
    second: [leg('b1', 500, 'y')],
    delayMs: 10,
    signal: controller.signal,
  })
  const check = assert.rejects(result, AggregateError)
  await runtime.clock.run(20)
  controller.abort()
  await check
  assert.deepEqual(
    calls.map(({ ended }) => ended),
    ['aborted', 'aborted'],
  )
  assert.deepEqual(leaks(runtime), [])
})

test('nothing more is sent for a caller that has left', async () => {
  const runtime = virtualRuntime()
  const { leg, calls } = legs(runtime)
  const controller = new AbortController()
  const { signal } = controller
  const result = hedge(runtime.clock, {
    first: [leg('a1', 500, 'x')],
    second: [leg('b1', 5, 'y')],
    delayMs: 100,
    signal,
  })
  const check = assert.rejects(result, AggregateError)
  await runtime.clock.run(20)
  controller.abort()
  await check
  assert.deepEqual(
    calls.map(({ name }) => name),
    ['a1'],
  )
  assert.deepEqual(leaks(runtime), [])
})

test('the delay starts the second legs once, and only where there are some', () => {
  assert.throws(() => createHedge(0, 1), RangeError)
  const alone = createHedge(1, 0)
  assert.equal(delayOver(alone), 'ignore')
  assert.equal(legFailed(alone, 0), 'lost')
  assert.deepEqual(alone.state, { tag: 'lost' })
  const both = createHedge(1, 1)
  assert.equal(delayOver(both), 'start-second')
  assert.equal(delayOver(both), 'ignore')
  assert.equal(legSatisfied(both, 1), 'won')
  assert.deepEqual(both.state, { tag: 'won', winner: 1, losers: [0] })
})

test('after one leg has won, or after it ended itself, no leg changes anything', () => {
  const hedged = createHedge(2, 0)
  assert.equal(legFailed(hedged, 0), 'wait')
  assert.equal(legSatisfied(hedged, 0), 'ignore')
  assert.equal(legFailed(hedged, 0), 'ignore')
  assert.equal(legSatisfied(hedged, 1), 'won')
  assert.equal(legSatisfied(hedged, 1), 'ignore')
  assert.equal(legFailed(hedged, 1), 'ignore')
  assert.deepEqual(hedged.state, { tag: 'won', winner: 1, losers: [] })
})

test('without second legs no timer is set', async () => {
  const runtime = virtualRuntime()
  const { leg } = legs(runtime)
  const result = hedge(runtime.clock, { first: [leg('a1', 20, 'x')], second: [], delayMs: 5 })
  assert.equal(runtime.clock.pending(), 1)
  await runtime.clock.run(100)
  assert.deepEqual(await result, { answer: 'x', leg: 0, hedged: false })
})

test('a hedge ends when its losers have', async () => {
  const runtime = virtualRuntime()
  const { leg } = legs(runtime)
  let cleaned = false
  const slow: HedgeLeg<string> = async (signal) => {
    await sleep(runtime.clock, 900, { signal }).catch(() => undefined)
    await sleep(runtime.clock, 50)
    cleaned = true
    return 'late'
  }
  const result = hedge(runtime.clock, { first: [leg('a1', 10, 'x'), slow], second: [], delayMs: 5 })
  let ended = false
  const ending = result.then(() => {
    ended = true
  })
  await runtime.clock.run(30)
  assert.deepEqual([ended, cleaned], [false, false])
  await runtime.clock.run(50)
  await ending
  assert.equal(cleaned, true)
})

test('when no leg satisfies, the error has what each of them said', async () => {
  const runtime = virtualRuntime()
  const { leg } = legs(runtime)
  const first = [leg('a1', 10, 'unwanted'), leg('a2', 20)]
  const result = hedge(runtime.clock, { first, second: [], delayMs: 5, satisfies: (answer) => answer === 'wanted' })
  const rejected = assert.rejects(result, (error) => {
    assert.ok(error instanceof AggregateError)
    assert.deepEqual(error.errors.map(String), ['Error: The answer does not satisfy.', 'Error: a2 failed'])
    return true
  })
  await runtime.clock.run(100)
  await rejected
})
