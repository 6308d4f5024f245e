/** Machines and processes that end, and begin again. */
import type { Fault } from './fault.ts'

/**
 * A cut comes at one of so many calls to the platform: of a while, of one request, or of those that make something durable,
 * where whatever was told too early is lost. If there are not that many it comes when it would be over.
 */
const MOMENTS: readonly { readonly callsMax: number; readonly of?: string }[] = [
  { callsMax: 60 },
  { callsMax: 5 },
  { callsMax: 6, of: 'disk.sync' },
]
const STALL_MS_MIN = 200
const STALL_MS_MORE = 3000

export const powerCut: Fault = (town, name, random) => {
  const { machine } = town.node(name)
  if (!machine.isUp) return undefined
  const { lives } = machine
  const hear = (): void => town.struck('power-cut', [name])
  const { callsMax, of } = MOMENTS[Math.floor(random.next() * MOMENTS.length)] ?? { callsMax: 1 }
  machine.crashAfter(1 + Math.floor(random.next() * callsMax), hear, of)
  return async () => {
    if (machine.isUp && machine.lives === lives) {
      hear()
      machine.crash()
    }
    await town.bringUp(name)
  }
}

export const kill: Fault = (town, name) => {
  const { machine } = town.node(name)
  if (!machine.isUp) return undefined
  town.struck('kill', [name])
  machine.kill()
  return async () => await town.bringUp(name)
}

/** An operator's: drains, ends, and starts again at once. */
export const restart: Fault = async (town, name) => {
  const node = town.node(name)
  if (node.state !== 'up') return undefined
  town.struck('restart', [name])
  await town.bringDown(name)
  await town.bringUp(name)
  return undefined
}

/** Nothing on the machine moves for a while, and then everything is late. */
export const stall: Fault = async (town, name, random) => {
  const { machine } = town.node(name)
  if (!machine.isUp) return undefined
  const forMs = STALL_MS_MIN + random.next() * STALL_MS_MORE
  town.struck('stall', [name])
  machine.stall(forMs)
  using _excuse = town.excuse([name])
  await town.world.sleep(forMs)
  return undefined
}
