import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { diffOf } from '../model/mutant.ts'
import { INTEROP_APPLIED_MUTANTS } from './interop-applied-mutants.ts'
import { check, SPECS, tlcIsMissing } from './tlc.ts'

const CONFIG = 'InteropApplied.cfg'
/** Every broken variant is a virtual machine of its own to start: only one of them, unless there is time. */
const BROKEN_VARIANTS =
  process.env['CAIRN_LONG'] === '1' ? INTEROP_APPLIED_MUTANTS : INTEROP_APPLIED_MUTANTS.slice(0, 1)

describe('InteropApplied in TLA+', async () => {
  const skip = (await tlcIsMissing()) ?? false

  test('a webhook is applied once, and everyone is told in the end', { skip }, async (t) => {
    const { violated, states, text } = await check('InteropApplied', CONFIG)
    assert.equal(violated, undefined, text)
    assert.ok(states > 500, `only ${states} states`)
    t.diagnostic(`${states} states`)
  })

  for (const mutant of BROKEN_VARIANTS) {
    test(`finds the broken variant: ${mutant.name}`, { skip }, async (t) => {
      const { violated, text } = await check('InteropApplied', CONFIG, mutant)
      assert.equal(violated, mutant.expect, text.slice(0, 10_000))
      const steps = text.match(/^State \d+: <\w+/gm)?.map((line) => line.replace(/^.*</, '')) ?? []
      t.diagnostic(`${await diffOf(SPECS, mutant)}\n  ${violated}: ${steps.join(' ')}`)
    })
  }
})
