import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { diffOf, type Mutant } from '../model/mutant.ts'
import { REGISTRY_HEAD_MUTANTS } from './registry-head-mutants.ts'
import { check, SPECS, tlcIsMissing } from './tlc.ts'

const SAFETY = 'RegistryHead.cfg'
const LIVENESS = 'RegistryHeadAnswers.cfg'
/** Every broken variant is a virtual machine of its own to start: only some of them, unless there is time. */
const BROKEN_VARIANTS = process.env['CAIRN_LONG'] === '1' ? REGISTRY_HEAD_MUTANTS : REGISTRY_HEAD_MUTANTS.slice(0, 2)

describe('RegistryHead in TLA+', async () => {
  const missing = await tlcIsMissing()
  const skip = missing ?? false

  test('holds in every state, through crashes and a drive that refuses', { skip }, async (t) => {
    const { violated, states, text } = await check('RegistryHead', SAFETY)
    assert.equal(violated, undefined, text)
    assert.ok(states > 10_000, `only ${states} states`)
    t.diagnostic(`safety: ${states} states`)
  })

  test('every approved proposal is committed or refused in the end', { skip }, async (t) => {
    const { violated, states, text } = await check('RegistryHead', LIVENESS)
    assert.equal(violated, undefined, text)
    assert.ok(states > 1_000, `only ${states} states`)
    t.diagnostic(`liveness: ${states} states`)
  })

  for (const mutant of BROKEN_VARIANTS) {
    test(`finds the broken variant: ${mutant.name}`, { skip }, async (t) => {
      const { violated, text } = await check('RegistryHead', configOf(mutant), mutant)
      assert.equal(violated, mutant.expect, text.slice(0, 10_000))
      const steps = text.match(/^State \d+: <\w+/gm)?.map((line) => line.replace(/^.*</, '')) ?? []
      t.diagnostic(`${await diffOf(SPECS, mutant)}\n  ${violated}: ${steps.join(' ')}`)
    })
  }
})

function configOf({ expect }: Mutant): string {
  return expect === 'liveness' ? LIVENESS : SAFETY
}
