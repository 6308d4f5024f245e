/**
 * A failing plan made small: steps are left out, many at a time and then fewer, as long as it still fails.
 *
 *     ████████████████ ─▶ ████░░░░████████ ─▶ ████░░░░██░░████ ─▶ … ─▶ every step that is left is needed
 */
import type { Plan, Step } from './plan.ts'

/** Runs before it is small enough as it is. */
const RUNS_MAX = 150

export async function minimise(plan: Plan, fails: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let { steps } = plan
  let runs = 0
  for (
    let size = Math.ceil(steps.length / 2);
    size >= 1 && runs < RUNS_MAX;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < steps.length && runs < RUNS_MAX; ) {
      const fewer = whole([...steps.slice(0, at), ...steps.slice(at + size)])
      runs += 1
      if (await fails({ ...plan, steps: fewer })) steps = fewer
      else at += size
    }
  }
  return { ...plan, steps }
}

/** Without the end of what never began. */
function whole(steps: readonly Step[]): readonly Step[] {
  const begun = new Set(steps.flatMap((step) => (step.tag === 'begin-fault' ? [step.fault.number] : [])))
  return steps.filter((step) => step.tag !== 'end-fault' || begun.has(step.fault))
}
