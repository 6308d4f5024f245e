/**
 * All is well again: every node up and ready, every object with all its copies, as the nodes themselves say.
 *
 *     all up ─▶ all ready ─▶ everything read and proved ─▶ nothing to repair, twice in a row, at every node
 */
import type { DurabilityReport, ScrubReport } from '@cairn/sdk'
import type { Answer } from './answer.ts'
import type { SimNode } from './sim-node.ts'
import type { Town } from './town.ts'

/** Starts of a node with nothing wrong before it is given up. */
const STARTS_MAX = 3
/** From then on everything is ready. */
const READY_MS_MAX = 15_000
/** From then on every object has been read and has all its copies. */
const REPAIR_MS_MAX = 30_000
/** Between two looks. */
const LOOK_MS = 300
/** A round of repairs that was under way when it was asked for another one may have begun too early to be believed. */
const LOOKS_CONTENT = 2

/** To be called when nothing is wrong any more. */
export async function repair(town: Town): Promise<void> {
  for (const node of town.nodes) await bringUp(town, node)
  await untilReady(town)
  const until = town.clock.now() + REPAIR_MS_MAX
  await Promise.all(town.nodes.map(async (node) => await scrub(town, node, until)))
  for (let content = 0; content < LOOKS_CONTENT; ) {
    for (const node of town.nodes) await ask(town, node, 'POST', '/admin/repair')
    await town.world.sleep(LOOK_MS)
    const whys = await Promise.all(town.nodes.map(async (node) => await whyNotContent(town, node)))
    const why = whys.find((each) => each !== undefined)
    content = why === undefined ? content + 1 : 0
    mustNotBeLate(town, until, why)
  }
}

/** Reads everything a node has, from its beginning: a round that was under way may have passed what has rotted since. */
async function scrub(town: Town, node: SimNode, until: number): Promise<void> {
  for (let wasUnderWay = true; wasUnderWay; ) {
    const before = (await ask(town, node, 'POST', '/admin/scrub')).json() as ScrubReport
    wasUnderWay = before.state === 'reading'
    for (let last = before; last.completed_at === before.completed_at; ) {
      await town.world.sleep(LOOK_MS)
      last = (await reportOf(town, node)).scrub
      mustNotBeLate(town, until, `${node.name} has not read everything.`)
    }
  }
}

async function whyNotContent(town: Town, node: SimNode): Promise<string | undefined> {
  const { copies, repairs, places } = await reportOf(town, node)
  const isContent =
    copies !== null &&
    copies.full === copies.objects &&
    copies.planned + repairs.pending === 0 &&
    places.every(({ state }) => state === 'up')
  return isContent ? undefined : `${node.name} says ${JSON.stringify({ copies, repairs, places })}.`
}

async function reportOf(town: Town, node: SimNode): Promise<DurabilityReport & { readonly scrub: ScrubReport }> {
  const answer = await ask(town, node, 'GET', '/admin/durability')
  return answer.json() as DurabilityReport & { readonly scrub: ScrubReport }
}

async function ask(town: Town, node: SimNode, method: string, path: string): Promise<Answer> {
  const answer = await town.send(node, 'storage', method, path)
  if (answer.status >= 300 || answer.isBroken)
    throw new Error(`${node.name} answered ${path} with ${answer.status} ${answer.code}, and nothing is wrong.`)
  return answer
}

function mustNotBeLate({ clock }: Town, until: number, why: string | undefined): void {
  if (why !== undefined && clock.now() > until)
    throw new Error(`All is well for ${REPAIR_MS_MAX} ms, and still: ${why}`)
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
