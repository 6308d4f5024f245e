/** Seeds of the cluster, one after the other, until one complains. Runs in the tree with the plant. */
import { planOf } from '../simulator/plan.ts'
import { runPlan } from '../simulator/run-seeds.ts'
import type { SeedBounds } from './simulate.ts'

export async function simulateClusters(
  { seedsMax, secondsMax }: SeedBounds,
  tell: (line: string) => void,
): Promise<string | undefined> {
  const endsAt = performance.now() + 1000 * secondsMax
  for (let seed = 1; seed <= seedsMax && performance.now() < endsAt; seed += 1) {
    tell(`cluster seed ${seed}`)
    const outcome = await runPlan(planOf(seed))
    if (outcome.tag === 'failed') return `cluster, seed ${seed}: ${outcome.message}`
  }
  return undefined
}
