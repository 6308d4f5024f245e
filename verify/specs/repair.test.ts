import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { diffOf } from '../model/mutant.ts'
import { REPAIR_MUTANTS } from './repair-mutants.ts'
import { check, SPECS, tlcIsMissing } from './tlc.ts'

const CONFIG = 'Repair.cfg'
/** Every broken variant is a virtual machine of its own to start: only one of them, unless there is time. */
const BROKEN_VARIANTS = process.env['CAIRN_LONG'] === '1' ? REPAIR_MUTANTS : REPAIR_MUTANTS.slice(0, 1)

describe('Repair in TLA+', async () => {
  const skip = (await tlcIsMissing()) ?? false

  test('the budget holds in any second, and every copy comes back', { skip }, async (t) => {
    const { violated, states, text } = await check('Repair', CONFIG)
    assert.equal(violated, undefined, text)
    assert.ok(states > 500, `only ${states} states`)
    t.diagnostic(`${states} states`)
  })

  for (const mutant of BROKEN_VARIANTS) {
    test(`finds the broken variant: ${mutant.name}`, { skip }, async (t) => {
      const { violated, text } = await check('Repair', CONFIG, mutant)
      assert.equal(violated, mutant.expect, text.slice(0, 10_000))
      const steps = text.match(/^State \d+: <\w+/gm)?.map((line) => line.replace(/^.*</, '')) ?? []
      t.diagnostic(`${await diffOf(SPECS, mutant)}\n  ${violated}: ${steps.join(' ')}`)
    })
  }
})
