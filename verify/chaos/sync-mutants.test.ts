import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diffOf, withMutant } from '../model/mutant.ts'
import { runCampaign } from './power-cut.ts'
import type { StorageClass } from './storage-load.ts'
import { SYNC_MUTANTS } from './sync-mutants.ts'

const SOURCE = new URL('../../packages/store/src/', import.meta.url)
const SEEDS_MAX = 12
const CUTS = 150

/** The first complaint of the campaign about the store in this directory. */
async function complaint(directory: URL): Promise<string | undefined> {
  const { Storage } = (await import(new URL('storage.ts', directory).href)) as { Storage: StorageClass }
  for (let seed = 1; seed <= SEEDS_MAX; seed += 1) {
    try {
      await runCampaign({ seed, cuts: CUTS, storage: Storage })
    } catch (error) {
      return String(error)
    }
  }
  return undefined
}

for (const mutant of SYNC_MUTANTS) {
  test(`the campaign misses a sync: ${mutant.name}`, async (t) => {
    const found = await withMutant(SOURCE, { ...mutant, expect: '' }, complaint)
    t.diagnostic(`${await diffOf(SOURCE, { ...mutant, expect: '' })}\n${found ?? 'not found'}`)
    assert.notEqual(found, undefined)
  })
}
