import type { Cluster } from '../cluster.ts'

/** Until breakers have found out that all are back, leases have run out, and whatever is told now and then was told. */
const DEADLINE_MS = 60_000
const STEP_MS = 500

/** All is well, and so this comes true in a stated time; `what` says what is missing if it does not. */
export async function eventually(cluster: Cluster, what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const until = cluster.clock.now() + DEADLINE_MS; !(await isSo()); await cluster.world.sleep(STEP_MS))
    if (cluster.clock.now() > until) throw new Error(`All is well for ${DEADLINE_MS} ms, and still ${what}.`)
}
