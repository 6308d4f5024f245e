/**
 * All is well again: every node up and ready, every object with all its copies, as the nodes themselves say.
 *
 *     all up ─▶ all ready ─▶ everything read and proved ─▶ nothing to repair, twice in a row, at every node
 */
import { untilContent } from '../virtual/content.ts'
import type { Cluster } from './cluster.ts'
import type { SimNode } from './sim-node.ts'

/** Starts of a node with nothing wrong before it is given up. */
const STARTS_MAX = 3
/** From then on everything is ready. */
const READY_MS_MAX = 15_000
/** A brownout looks back on what was slow for a minute, and ends after half a minute of calm. */
const BROWNOUT_MS_MAX = 120_000
const BROWNOUT = /^interop brownout_bridge$/
/** From then on every object has been read and has all its copies. */
const REPAIR_MS_MAX = 30_000

/** To be called when nothing is wrong any more. */
export async function repair(cluster: Cluster): Promise<void> {
  for (const node of cluster.nodes) await bringUp(cluster, node)
  await untilReady(cluster)
  await untilContent(
    cluster.world,
    cluster.nodes.map((node) => ({
      name: node.name,
      ask: async (method, path) => await ask(cluster, node, method, path),
    })),
    REPAIR_MS_MAX,
  )
}

async function ask(cluster: Cluster, node: SimNode, method: string, path: string): Promise<unknown> {
  const answer = await cluster.send(node, 'storage', method, path)
  if (answer.status >= 300 || answer.isBroken)
    throw new Error(`${node.name} answered ${path} with ${answer.status} ${answer.code}, and nothing is wrong.`)
  return answer.json()
}

async function bringUp(cluster: Cluster, node: SimNode): Promise<void> {
  // What failed too often is not started again by the others of its process: that is the service manager's.
  if (node.hasFailed) await cluster.bringDown(node.name)
  for (let start = 1; start <= STARTS_MAX && node.state !== 'up'; start += 1) {
    while (node.state === 'starting') await cluster.world.sleep(100)
    await cluster.bringUp(node.name)
  }
  if (node.state !== 'up') throw new Error(`${node.name} does not start though nothing is wrong: ${node.why}`)
}

/** In a stated time, with nothing wrong. */
export async function untilReady({ nodes, clock, world }: Cluster): Promise<void> {
  const since = clock.now()
  for (const node of nodes) {
    for (;;) {
      const missing = await node.missing()
      if (missing.length === 0) break
      const withinMs = missing.every((each) => BROWNOUT.test(each)) ? BROWNOUT_MS_MAX : READY_MS_MAX
      if (clock.now() > since + withinMs)
        throw new Error(`${node.name} is not ready after ${withinMs} ms: ${missing.join(', ')}`)
      await world.sleep(100)
    }
  }
}
