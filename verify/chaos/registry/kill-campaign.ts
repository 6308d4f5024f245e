/** Kills of a registry at one point, or at random moments: each campaign is short enough to be run alone. */
import assert from 'node:assert/strict'
import type { CrashPoint } from '../../../services/registry/src/domain/crash-points.ts'
import { runKills, tell } from './kill.ts'

/** On one directory: what accumulates in it makes each kill dearer. */
const KILLS = 20
/** One in so many comes at a random moment: the load must also get somewhere in between. */
const RANDOM_EVERY = 5
/** No process is begun after so long. */
const BUDGET_MS = 90_000

/** Up to twenty kills; says what came of them. */
export async function killCampaign(point: CrashPoint | undefined, seed: number): Promise<string> {
  const plans = Array.from({ length: KILLS }, (_, at) => (at % RANDOM_EVERY === 0 ? undefined : point))
  const report = await runKills(plans, seed, BUDGET_MS)
  if (point !== undefined) assert.ok((report.at.get(point) ?? 0) > 0, `no kill came at ${point}`)
  return tell(report)
}
