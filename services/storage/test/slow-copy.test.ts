import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { noise } from '../../../verify/virtual/noise.ts'
import { TestService } from './harness.ts'
import { driveSwitch, withDrives } from './several-drives.ts'

const OBJECTS = 60
const READS = 600
const HEDGE_MS = 30
const SLOW_MS = 500

/** Milliseconds each of many reads of small objects took, none of them from memory. */
async function readTimes(service: TestService, ids: readonly string[]): Promise<number[]> {
  const took: number[] = []
  for (let at = 0; at < READS; at += 1) {
    const began = service.world.clock.now()
    const { status } = await service.ask('GET', `/o/${ids[at % ids.length]!}`, { token: null })
    assert.equal(status, 200)
    took.push(service.world.clock.now() - began)
  }
  return took.sort((a, b) => a - b)
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? 0
}

test('a copy that became slow costs a reader no more than the hedge, and the drives no more than a twentieth', async (t) => {
  const drives = driveSwitch()
  const service = await TestService.start(withDrives(['a', 'b'], drives, { cache_bytes: 0 }))
  const ids: string[] = []
  for (let at = 0; at < OBJECTS; at += 1) {
    const body = noise(2000, at + 1)
    await service.ask('POST', '/o', { body })
    ids.push(addressOf(body))
  }
  const healthy = percentile(await readTimes(service, ids), 0.99)
  for (const slow of ['a', 'b']) {
    drives.slow.clear()
    drives.slow.set(slow, SLOW_MS)
    const before = service.metric('hedged_reads_total')
    const p99 = percentile(await readTimes(service, ids), 0.99)
    const extra = (service.metric('hedged_reads_total') - before) / READS
    t.diagnostic(`healthy p99 ${healthy.toFixed(2)} ms; ${slow} slow: p99 ${p99.toFixed(2)} ms, extra load ${extra}`)
    assert.ok(p99 <= 1.2 * healthy + HEDGE_MS, `${p99} ms, ${healthy} ms when healthy`)
    assert.ok(extra <= 0.05, `${extra} more reads`)
  }
  await service.stop()
})
