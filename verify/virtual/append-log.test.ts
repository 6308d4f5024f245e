import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CrashCheck, checkEveryCall, checkEveryImage } from './crash-check.ts'
import { appendLines, type Forgets, readLines } from './samples/append-log.ts'

function log(forgets: Forgets): CrashCheck {
  return {
    seed: 1,
    work: async ({ disk }, promise) => await appendLines(disk, forgets, promise),
    check: async ({ disk }, promised) => {
      const lines = await readLines(disk)
      assert.deepEqual(lines.slice(0, promised.length), promised)
    },
  }
}

describe('a log that acknowledges lines', () => {
  test('loses no acknowledged line over every crash image', async (t) => {
    const images = await checkEveryImage(log('nothing'))
    assert.ok(images > 20)
    t.diagnostic(`${images} images`)
  })

  test('loses no acknowledged line when the power goes at any platform call', async (t) => {
    const calls = await checkEveryCall(log('nothing'))
    assert.ok(calls >= 9)
    t.diagnostic(`${calls} calls`)
  })

  for (const forgets of ['the sync of the file', 'the sync of the directory'] as const) {
    test(`is caught when it forgets ${forgets}, and told where`, async () => {
      await assert.rejects(checkEveryImage(log(forgets)), /Seed 1, crash after event \d+: .* lost.*; promised: first/)
      await assert.rejects(checkEveryCall(log(forgets)), /Seed 1, crash at call \d+; promised: first/)
    })
  }
})
