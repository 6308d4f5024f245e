import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { VirtualClock } from '@cairn/kernel/testing'
import fc from 'fast-check'
import { addressNamed } from '../test/peer.ts'
import { RECORD_TTL_MS, REPUBLISH_MS } from './record.ts'
import * as core from './republish-core.ts'
import { RepublishSchedule } from './republish-schedule.ts'

/** Runs the loop of a service for a time: every take, with what becomes of it, on a clock of whole milliseconds. */
function run(
  republish: core.RepublishCore,
  fromMs: number,
  untilMs: number,
  fails: () => boolean,
): Map<string, number[]> {
  const taken = new Map<string, number[]>()
  for (let now = fromMs; now < untilMs; ) {
    const key = core.take(republish, now)
    if (key !== undefined) {
      taken.set(key, [...(taken.get(key) ?? []), now])
      if (fails()) core.failed(republish, key, now)
      else core.announced(republish, key, now)
    }
    const waitMs = core.delayMs(republish, now)
    if (waitMs === undefined) break
    now += Math.max(1, Math.ceil(waitMs))
  }
  return taken
}

function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((time, at) => time - (times[at] ?? 0))
}

describe('republishing', () => {
  test('is steady: two takes are never closer than the pace, however many arrive at once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.nat(100), (count, failing) => {
        const republish = core.createRepublish(0)
        for (let key = 0; key < count; key += 1) core.add(republish, addressNamed(`key ${key}`), 0)
        const pace = core.paceMs(republish)
        let drawn = 0
        const fails = (): boolean => (drawn = (drawn * 31 + 7) % 101) < failing / 4
        const taken = run(republish, 0, REPUBLISH_MS / 6, fails)
        const times = [...taken.values()].flat().sort((a, b) => a - b)
        assert.ok(gaps(times).every((gap) => gap >= pace))
      }),
      { numRuns: 25 },
    )
  })

  test('tells every object again at 12 hours, well before its record ends, and in the same spacing', () => {
    const republish = core.createRepublish(0)
    for (let key = 0; key < 400; key += 1) core.add(republish, addressNamed(`key ${key}`), 0)
    const taken = run(republish, 0, 3 * REPUBLISH_MS, () => false)
    assert.equal(taken.size, 400)
    for (const times of taken.values()) {
      assert.ok(times.length >= 3)
      for (const gap of gaps(times)) assert.ok(gap >= REPUBLISH_MS && gap < REPUBLISH_MS + 60_000, `${gap} ms`)
    }
  })

  test('tells 200 000 objects within the life of their records, at a pace that grows with them', () => {
    const republish = core.createRepublish(0)
    const count = 200_000
    for (let key = 0; key < count; key += 1) core.add(republish, `b3:${key}`, 0)
    assert.ok(count * core.paceMs(republish) + REPUBLISH_MS <= RECORD_TTL_MS)
    for (let now = 0; now < 400_000; now += 1_000) {
      const key = core.take(republish, now)
      assert.ok(key !== undefined)
      core.announced(republish, key, now)
    }
    assert.equal(core.size(republish), count)
  })

  test('tries what failed again after five minutes, and forgets what was removed', () => {
    const republish = core.createRepublish(0)
    const [kept, gone] = [addressNamed('kept'), addressNamed('gone')]
    core.add(republish, kept, 0)
    core.add(republish, gone, 0)
    assert.equal(core.take(republish, 0), kept)
    core.failed(republish, kept, 0)
    core.remove(republish, gone)
    assert.equal(core.take(republish, 299_999), undefined)
    assert.equal(core.delayMs(republish, 299_999), 1)
    assert.equal(core.take(republish, 300_000), kept)
    core.remove(republish, kept)
    core.announced(republish, kept, 300_000)
    assert.equal(core.size(republish), 0)
    assert.equal(core.delayMs(republish, 300_000), undefined)
  })

  test('an object is in exactly one place, whatever happens', () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd').map(addressNamed),
      what: fc.constantFrom('add', 'remove', 'take', 'told', 'failed', 'pass'),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const republish = core.createRepublish(0)
        let now = 0
        for (const { key, what } of steps) {
          if (what === 'add') core.add(republish, key, now)
          if (what === 'remove') core.remove(republish, key)
          if (what === 'take') core.take(republish, now)
          if (what === 'told') core.announced(republish, key, now)
          if (what === 'failed') core.failed(republish, key, now)
          if (what === 'pass') now += 400_000
          const { fresh, failed, waiting, taken } = republish
          const everywhere = [fresh, failed, waiting]
            .flatMap(({ pending: living }) => [...living.keys()])
            .concat(...taken)
          assert.equal(new Set(everywhere).size, everywhere.length)
          for (const { pending: living, entries, head } of [fresh, failed, waiting]) {
            const left = entries.slice(head).filter((entry) => living.get(entry.key) === entry)
            assert.deepEqual(left.map((entry) => entry.key).sort(), [...living.keys()].sort())
          }
        }
      }),
    )
  })
})

describe('a schedule on a clock', () => {
  const NEVER = { signal: new AbortController().signal }

  test('hands out what was added while somebody waits, then waits for the pace, and leaves no timer', async () => {
    const clock = new VirtualClock()
    const schedule = new RepublishSchedule(clock)
    const first = schedule.next(NEVER)
    await clock.run(1_000)
    schedule.add(addressNamed('a'))
    schedule.add(addressNamed('b'))
    assert.equal(await first, addressNamed('a'))
    schedule.done(addressNamed('a'), 'told')
    const began = clock.now()
    const second = schedule.next(NEVER)
    await clock.run(10_000)
    assert.equal(await second, addressNamed('b'))
    assert.ok(clock.now() >= began + 250)
    schedule.done(addressNamed('b'), 'failed')
    assert.equal(schedule.size, 2)
    const controller = new AbortController()
    const third = schedule.next({ signal: controller.signal })
    await clock.settle()
    assert.equal(clock.pending(), 1)
    controller.abort()
    await assert.rejects(third)
    assert.equal(clock.pending(), 0)
  })
})
