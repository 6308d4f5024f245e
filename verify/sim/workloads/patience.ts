import type { Town } from '../town.ts'

/** Until breakers have found out that all are back, leases have run out, and whatever is told now and then was told. */
const PATIENCE_MS = 60_000
const STEP_MS = 500

/** All is well, and so this comes true in a stated time; `what` says what is missing if it does not. */
export async function patiently(town: Town, what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const until = town.clock.now() + PATIENCE_MS; !(await isSo()); await town.world.sleep(STEP_MS))
    if (town.clock.now() > until) throw new Error(`All is well for ${PATIENCE_MS} ms, and still ${what}.`)
}
