import { test } from 'node:test'
import { checkStorageKills } from './node/storage-kills.ts'

/** The seeds of two campaigns of a hundred kills, each on a data directory of its own. */
const SEEDS: readonly number[] = [1000, 2000]
const KILLS = 105

for (const seed of SEEDS) {
  test(`kill -9 of a whole node under a mixed load, a hundred times on one data directory, seed ${seed}`, async (t) => {
    await checkStorageKills(t, KILLS, seed)
  })
}
