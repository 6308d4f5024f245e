import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { noise } from '../../../verify/virtual/noise.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { driveSwitch, withDrives } from './several-drives.ts'

const KIB = 1024
/** Records have headers, objects have records: what is written is a little more than what is copied. */
const OVERHEAD = 1.05

interface Write {
  readonly at: number
  readonly bytes: number
}

/** The options, with everything that is appended to the drives written down. */
function watched(options: ServiceOptions, writes: Write[]): ServiceOptions {
  return {
    ...options,
    wrap: (platform) => {
      const wrapped = options.wrap?.(platform) ?? platform
      const { disk } = wrapped
      const open: typeof disk.open = async (path, how) => {
        const file = await disk.open(path, how)
        if (!path.includes('journal')) return file
        const append: typeof file.append = async (buffers) => {
          const bytes = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
          writes.push({ at: platform.clock.now(), bytes })
          return await file.append(buffers)
        }
        return { ...file, append }
      }
      return { ...wrapped, disk: { ...disk, open } }
    },
  }
}

/** The most that was written in any second. */
function mostInASecond(writes: readonly Write[]): number {
  let most = 0
  let sum = 0
  let first = 0
  for (const [last, { at, bytes }] of writes.entries()) {
    sum += bytes
    while ((writes[first]?.at ?? at) <= at - 1000) {
      sum -= writes[first]?.bytes ?? 0
      first += 1
    }
    assert.ok(first <= last)
    most = Math.max(most, sum)
  }
  return most
}

/** With a small one a chunk is all that fits into a second. */
const BUDGETS: readonly { readonly budget: number; readonly stepBytes: number; readonly seconds: number }[] = [
  { budget: 1024 * KIB, stepBytes: 18_000, seconds: 12 },
  { budget: 64 * KIB, stepBytes: 2000, seconds: 60 },
]

for (const { budget, stepBytes, seconds } of BUDGETS)
  test(`a drive is lost under load: everything is read all the while, repair restores the copies and never exceeds ${budget / KIB} KiB in any second`, async (t) => {
    const drives = driveSwitch()
    const writes: Write[] = []
    const config = { cache_bytes: 0, durability: { sweep_interval: '1s', repair_pacing: budget } }
    const service = await TestService.start(watched(withDrives(['a', 'b', 'c'], drives, config), writes))
    const objects = Array.from({ length: 40 }, (_, at) => noise(1000 + stepBytes * at, at + 1))
    for (const body of objects) assert.equal((await service.ask('POST', '/o?stream', { body })).status, 201)
    drives.gone.add('c')
    writes.length = 0
    for (let round = 0; round < 2 * seconds; round += 1) {
      const body = objects[round % objects.length]!
      const { body: read } = await service.ask('GET', `/o/${addressOf(body)}`, { token: null })
      assert.ok(read.equals(body))
      await service.sleep(500)
    }
    const { full, under, single } = service.parts.replication.plan.last!
    assert.deepEqual({ full, under, single }, { full: objects.length, under: 0, single: 0 })
    const copied = writes.reduce((sum, { bytes }) => sum + bytes, 0)
    const most = mostInASecond(writes)
    t.diagnostic(`${copied} bytes copied, at most ${most} in a second of ${budget}`)
    assert.ok(copied > 2 * budget, 'there was more to copy than one second allows')
    assert.ok(most <= budget * OVERHEAD)
    assert.equal(service.parts.replication.plan.last!.proved, 0, 'nothing is proved before it was read')
    await service.ask('POST', '/admin/scrub')
    await service.sleep(10_000)
    assert.equal(service.parts.replication.plan.last!.proved, 2)
    assert.equal(service.metric('rf_observed'), 2)
    await service.stop()
  })
