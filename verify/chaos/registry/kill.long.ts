import { test } from 'node:test'
import type { CrashPoint } from '../../../services/registry/src/domain/crash-points.ts'
import { killCampaign } from './kill-campaign.ts'

/** Where most kills of a campaign come, or at random moments; and its first seed. */
const CAMPAIGNS: readonly (readonly [point: CrashPoint | undefined, seed: number])[] = [
  ['entries-written', 1000],
  ['entries-synced', 1100],
  ['signed', 1200],
  ['checkpoint-written', 1300],
  ['checkpoint-synced', 1400],
  ['published', 1500],
  ['acknowledged', 1600],
  ['mid-checkpoint', 1700],
  ['mid-prune', 1800],
  [undefined, 2000],
  [undefined, 2100],
]

for (const [point, seed] of CAMPAIGNS) {
  const when = point === undefined ? 'at random moments' : `most of them at ${point}`
  test(`kill -9 of a registry, ${when}, seed ${seed}: what was said is true, nothing twice`, async (t) => {
    t.diagnostic(await killCampaign(point, seed))
  })
}
