/** Seeds of the town, one after the other, until one complains. Runs in the tree with the plant. */
import { planOf } from '../sim/plan.ts'
import { runPlan } from '../sim/run-seeds.ts'
import type { SeedBounds } from './simulate.ts'

export async function simulateTowns(
  { seedsMax, secondsMax }: SeedBounds,
  tell: (line: string) => void,
): Promise<string | undefined> {
  const endsAt = performance.now() + 1000 * secondsMax
  for (let seed = 1; seed <= seedsMax && performance.now() < endsAt; seed += 1) {
    tell(`town seed ${seed}`)
    const outcome = await runPlan(planOf(seed))
    if (outcome.tag === 'failed') return `town, seed ${seed}: ${outcome.message}`
  }
  return undefined
}
