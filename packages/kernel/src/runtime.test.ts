import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from './observe/log.ts'
import { MemoryMetrics } from './observe/metrics.ts'
import { leaks, systemRuntime, virtualRuntime } from './runtime.ts'

test('what is left alive is named, timers by how many', () => {
  const runtime = virtualRuntime()
  const unlist = runtime.topology.add({ kind: 'queue', name: 'work', facts: () => ({}) })
  const timers = [runtime.clock.timer(1, () => undefined), runtime.clock.timer(2, () => undefined)]
  assert.deepEqual(leaks(runtime), ['queue work', '2 timers'])
  for (const timer of timers) timer.cancel()
  unlist()
  assert.deepEqual(leaks(runtime), [])
})

test("a service has the machine's clock and chance, and the log and metrics it is given", () => {
  const [log, metrics] = [new MemoryLog(), new MemoryMetrics()]
  const runtime = systemRuntime(log, metrics)
  assert.deepEqual([runtime.log, runtime.metrics], [log, metrics])
  assert.ok(runtime.clock.wall() > 1_700_000_000_000)
  assert.notDeepEqual(runtime.random.bytes(16), runtime.random.bytes(16))
  assert.deepEqual(leaks(runtime), [])
})
