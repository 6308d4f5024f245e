import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { diffOf } from '../../model/mutant.ts'
import { type InteropModule, withInteropMutant } from './interop-module.ts'
import { runCampaign } from './power-cut.ts'
import { SYNC_MUTANTS } from './sync-mutants.ts'

const ROOT = new URL('../../../', import.meta.url)
const SEEDS_MAX = 8
const CUTS = 60

async function complaint(interop: InteropModule): Promise<string | undefined> {
  for (let seed = 1; seed <= SEEDS_MAX; seed += 1) {
    try {
      await runCampaign({ seed, cuts: CUTS, interop })
    } catch (error) {
      return String(error)
    }
  }
  return undefined
}

describe('the campaign misses every sync a 202 stands on', () => {
  for (const mutant of SYNC_MUTANTS) {
    test(mutant.name, async (t) => {
      const found = await withInteropMutant(mutant, complaint)
      t.diagnostic(`${await diffOf(ROOT, { ...mutant, expect: '' })}\n${found ?? 'not found'}`)
      assert.notEqual(found, undefined)
    })
  }
})
