/** Machines and processes that end, and begin again. */
import type { Fault } from './fault.ts'

/**
 * A cut comes when a client was just told that something is done, or at one of so many calls to the platform: of a while,
 * of one request, or of those that make something durable, where whatever was told too early is lost. If there are not
 * that many it comes when it would be over.
 */
const MOMENTS: readonly ('told' | { readonly callsMax: number; readonly of?: string })[] = [
  'told',
  { callsMax: 60 },
  { callsMax: 5 },
  { callsMax: 6, of: 'disk.sync' },
]
const STALL_MS_MIN = 200
const STALL_MS_MORE = 3000

export const powerCut: Fault = (cluster, name, random) => {
  const { machine } = cluster.node(name)
  if (!machine.isUp) return undefined
  const { lives } = machine
  const hear = (): void => cluster.struck('power-cut', [name])
  const cut = (): void => {
    if (!machine.isUp || machine.lives !== lives) return
    hear()
    machine.crash()
  }
  const moment = MOMENTS[Math.floor(random.next() * MOMENTS.length)] ?? 'told'
  const told = moment === 'told' ? cluster.onceTold(name, random, cut) : undefined
  if (moment !== 'told') machine.crashAfter(1 + Math.floor(random.next() * moment.callsMax), hear, moment.of)
  return async () => {
    told?.[Symbol.dispose]()
    cut()
    await cluster.bringUp(name)
  }
}

/** The power goes everywhere at once, when one node has just told a client that something is done. */
export const blackout: Fault = (cluster, name, random) => {
  let isOver = false
  const cut = (): void => {
    if (isOver) return
    isOver = true
    const up = cluster.nodes.filter(({ machine }) => machine.isUp)
    if (up.length === 0) return
    cluster.struck(
      'blackout',
      up.map((node) => node.name),
    )
    for (const { machine } of up) machine.crash()
  }
  const told = cluster.onceTold(name, random, cut)
  return async () => {
    told[Symbol.dispose]()
    cut()
    await Promise.all(cluster.nodes.map(async (node) => await cluster.bringUp(node.name)))
  }
}

export const kill: Fault = (cluster, name) => {
  const { machine } = cluster.node(name)
  if (!machine.isUp) return undefined
  cluster.struck('kill', [name])
  machine.kill()
  return async () => await cluster.bringUp(name)
}

/** An operator's: drains, ends, and starts again at once. */
export const restart: Fault = async (cluster, name) => {
  const node = cluster.node(name)
  if (node.state !== 'up') return undefined
  cluster.struck('restart', [name])
  await cluster.bringDown(name)
  await cluster.bringUp(name)
  return undefined
}

/** Nothing on the machine moves for a while, and then everything is late. */
export const stall: Fault = async (cluster, name, random) => {
  const { machine } = cluster.node(name)
  if (!machine.isUp) return undefined
  const forMs = STALL_MS_MIN + random.next() * STALL_MS_MORE
  cluster.struck('stall', [name])
  machine.stall(forMs)
  using _window = cluster.openFaultWindow([name])
  await cluster.world.sleep(forMs)
  return undefined
}
