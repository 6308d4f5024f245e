import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CrashPoint } from '../../../services/registry/src/domain/crash-points.ts'
import { diffOf } from '../../model/mutant.ts'
import { killThenCut } from './kill-then-cut.ts'
import { runCampaign } from './power-cut.ts'
import { loadRegistry, type RegistryModule, withRegistryMutant } from './registry-module.ts'
import { RECOVERY_MUTANTS, SYNC_MUTANTS } from './sync-mutants.ts'

const ROOT = new URL('../../../', import.meta.url)
const SEEDS_MAX = 8
const CUTS = 60
/** Each takes seconds; the first two are the two syncs of a commit. */
const IS_LONG = process.env['CAIRN_LONG'] === '1'

async function complaint(registry: RegistryModule): Promise<string | undefined> {
  for (let seed = 1; seed <= SEEDS_MAX; seed += 1) {
    try {
      await runCampaign({ seed, cuts: CUTS, registry })
    } catch (error) {
      return String(error)
    }
  }
  return undefined
}

const RECOVERY_POINTS: readonly CrashPoint[] = ['entries-written', 'checkpoint-written']

async function recoveryComplaint(registry: RegistryModule): Promise<string | undefined> {
  for (let seed = 1; seed <= SEEDS_MAX; seed += 1)
    for (const point of RECOVERY_POINTS) {
      try {
        await killThenCut(registry, point, seed)
      } catch (error) {
        return String(error)
      }
    }
  return undefined
}

describe('a process that is killed, and then a power cut', () => {
  test('loses nothing that the next process has shown', async () => {
    assert.equal(await recoveryComplaint(await loadRegistry()), undefined)
  })
  for (const mutant of RECOVERY_MUTANTS)
    test(`is missed where ${mutant.name}`, async (t) => {
      const found = await withRegistryMutant(mutant, recoveryComplaint)
      t.diagnostic(`${await diffOf(ROOT, { ...mutant, expect: '' })}\n${found ?? 'not found'}`)
      assert.notEqual(found, undefined)
    })
})

describe('the campaign misses every sync of a commit', () => {
  for (const mutant of IS_LONG ? SYNC_MUTANTS : SYNC_MUTANTS.slice(0, 2)) {
    test(mutant.name, async (t) => {
      const found = await withRegistryMutant(mutant, complaint)
      t.diagnostic(`${await diffOf(ROOT, { ...mutant, expect: '' })}\n${found ?? 'not found'}`)
      assert.notEqual(found, undefined)
    })
  }
})
