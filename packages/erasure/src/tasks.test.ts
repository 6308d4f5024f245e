import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadline, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { openWorkers } from '@cairn/platform'
import { assertSame, stripe } from '../test/codes.ts'
import { encode } from './code.ts'
import { ENCODE, RECONSTRUCT } from './index.ts'

test('worker threads encode and reconstruct, and their refusals arrive as they were thrown', async () => {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const workers = openWorkers(runtime)
  const options = { deadline: Deadline.after(runtime.clock, 20_000) }
  try {
    const shards = stripe(6, 3, 65_536)
    encode(shards, 6, 3)
    const parity = await workers.run(ENCODE, { data: shards.slice(0, 6), m: 3 }, options)
    assertSame(parity, shards.slice(6))
    const left = shards.map((shard, index) => (index < 3 ? undefined : shard))
    const rebuilt = await workers.run(RECONSTRUCT, { shards: left, k: 6, m: 3, wanted: [2, 0] }, options)
    assertSame(rebuilt, [shards[2], shards[0]])
    const few = { shards: left.with(3, undefined), k: 6, m: 3, wanted: [0] }
    await assert.rejects(workers.run(RECONSTRUCT, few, options), { kind: 'NotFound', code: 'too_few_shards' })
  } finally {
    await workers.close()
  }
})
