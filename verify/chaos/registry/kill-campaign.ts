/** Kills of a registry at one point, or at random moments: each campaign is short enough to be run alone. */
import assert from 'node:assert/strict'
import type { CrashPoint } from '../../../services/registry/src/domain/crash-points.ts'
import { type KillReport, runKills, tell } from './kill.ts'

/** On one directory: what accumulates in it makes each kill dearer. */
const KILLS = 20
/** One in so many comes at a random moment: the load must also get somewhere in between. */
const RANDOM_EVERY = 5
/** No process is begun after so long. */
const BUDGET_MS = 90_000

/** Up to twenty kills; says what came of them. */
export async function killCampaign(point: CrashPoint | undefined, seed: number): Promise<string> {
  const report = point === 'mid-prune' ? await killsWhilePruning(seed) : await killsOn(point, seed)
  if (point !== undefined) assert.ok((report.at.get(point) ?? 0) > 0, `no kill came at ${point}`)
  return tell(report)
}

async function killsOn(point: CrashPoint | undefined, seed: number): Promise<KillReport> {
  const plans = Array.from({ length: KILLS }, (_, at) => (at % RANDOM_EVERY === 0 ? undefined : point))
  return await runKills(plans, seed, BUDGET_MS)
}

/** Each on a directory of its own: what is open when the kill comes keeps the lives after it from pruning. */
async function killsWhilePruning(seed: number): Promise<KillReport> {
  const beganAt = performance.now()
  const reports: KillReport[] = []
  while (reports.length < KILLS && performance.now() - beganAt < BUDGET_MS) {
    reports.push(await runKills(['mid-prune'], seed + reports.length))
  }
  const sum = (count: (report: KillReport) => number): number => reports.reduce((all, each) => all + count(each), 0)
  const points = new Set(reports.flatMap(({ at }) => [...at.keys()]))
  return {
    kills: sum(({ kills }) => kills),
    at: new Map([...points].map((point) => [point, sum(({ at }) => at.get(point) ?? 0)])),
    marks: sum(({ marks }) => marks),
    versions: sum(({ versions }) => versions),
    ahead: sum(({ ahead }) => ahead),
  }
}
