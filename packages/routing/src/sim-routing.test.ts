import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadline } from '@cairn/kernel'
import { leaks, virtualRuntime } from '@cairn/kernel/testing'
import { addressNamed, METRICS } from '../test/peer.ts'
import { SimRouting } from './sim-routing.ts'

const HELD = addressNamed('held')

async function trace(seed: number): Promise<string[]> {
  const runtime = virtualRuntime(seed, METRICS)
  const { clock } = runtime
  const knows = () => [{ id: 'holder', http: [], seenAtMs: 0 }]
  const routing = new SimRouting(runtime, [
    { name: 'fast', latencyMs: 5, knows },
    { name: 'slow', latencyMs: 300, jitterMs: 100, knows },
    { name: 'flaky', latencyMs: 10, failure: 0.5 },
    { name: 'lossy', latencyMs: 10, loss: 0.5 },
  ])
  const seen: string[] = []
  for (let round = 0; round < 20; round += 1) {
    const legs = routing.legs(HELD, 4).map(async ({ target, find }) => {
      const onProvider = (): void => void seen.push(`${target} found at ${clock.now()}`)
      const options = { deadline: Deadline.after(clock, 1_200), signal: new AbortController().signal, onProvider }
      await find(HELD, options).catch((error: unknown) => seen.push(`${target} ${String(error)} at ${clock.now()}`))
    })
    await clock.run(1_500)
    await Promise.all(legs)
  }
  assert.deepEqual(leaks(runtime), [])
  assert.equal(routing.asked.get('fast'), 20)
  return seen
}

test('the same seed gives the same lookups to the millisecond, another seed others', async () => {
  const first = await trace(3)
  assert.deepEqual(await trace(3), first)
  assert.notDeepEqual(await trace(4), first)
  assert.ok(first.some((line) => line.startsWith('sim:fast found at')))
  assert.ok(first.some((line) => line.includes('sim:flaky CairnError: flaky failed.')))
  assert.ok(first.some((line) => line.includes('sim:lossy CairnError: The time for')))
})
