/** All is well again: every node up and ready, every object with all its copies. */
import type { SimNode } from './sim-node.ts'
import type { Town } from './town.ts'

/** Starts of a node with nothing wrong before it is given up. */
const STARTS_MAX = 3
/** From then on everything is ready. */
const READY_MS_MAX = 15_000
/** Long enough for peers to find each other, and for a few rounds of scrub and repair. */
const REPAIR_MS = 8000

/** To be called when nothing is wrong any more. */
export async function repair(town: Town): Promise<void> {
  for (const node of town.nodes) await bringUp(town, node)
  await untilReady(town)
  for (const node of town.nodes) await town.send(node, 'storage', 'POST', '/admin/scrub')
  await town.world.sleep(REPAIR_MS)
}

async function bringUp(town: Town, node: SimNode): Promise<void> {
  // What failed too often is not started again by the others of its process: that is the service manager's.
  if (node.hasFailed) await town.bringDown(node.name)
  for (let start = 1; start <= STARTS_MAX && node.state !== 'up'; start += 1) {
    while (node.state === 'starting') await town.world.sleep(100)
    await town.bringUp(node.name)
  }
  if (node.state !== 'up') throw new Error(`${node.name} does not start though nothing is wrong: ${node.why}`)
}

async function untilReady({ nodes, clock, world }: Town): Promise<void> {
  const until = clock.now() + READY_MS_MAX
  for (const node of nodes) {
    for (;;) {
      const missing = await node.missing()
      if (missing.length === 0) break
      if (clock.now() > until)
        throw new Error(`${node.name} is not ready after ${READY_MS_MAX} ms: ${missing.join(', ')}`)
      await world.sleep(100)
    }
  }
}
