/**
 * All is well again: every node up and ready, every object with all its copies, as the nodes themselves say.
 *
 *     all up ─▶ all ready ─▶ everything read and proved ─▶ nothing to repair, twice in a row, at every node
 */
import { untilContent } from '../virtual/content.ts'
import type { SimNode } from './sim-node.ts'
import type { Town } from './town.ts'

/** Starts of a node with nothing wrong before it is given up. */
const STARTS_MAX = 3
/** From then on everything is ready. */
const READY_MS_MAX = 15_000
/** From then on every object has been read and has all its copies. */
const REPAIR_MS_MAX = 30_000

/** To be called when nothing is wrong any more. */
export async function repair(town: Town): Promise<void> {
  for (const node of town.nodes) await bringUp(town, node)
  await untilReady(town)
  await untilContent(
    town.world,
    town.nodes.map((node) => ({ name: node.name, ask: async (method, path) => await ask(town, node, method, path) })),
    REPAIR_MS_MAX,
  )
}

async function ask(town: Town, node: SimNode, method: string, path: string): Promise<unknown> {
  const answer = await town.send(node, 'storage', method, path)
  if (answer.status >= 300 || answer.isBroken)
    throw new Error(`${node.name} answered ${path} with ${answer.status} ${answer.code}, and nothing is wrong.`)
  return answer.json()
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

/** In a stated time, with nothing wrong. */
export async function untilReady({ nodes, clock, world }: Town): Promise<void> {
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
