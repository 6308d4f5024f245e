/** Machines and processes that end, and begin again. */
import type { Fault } from './fault.ts'

/** A cut or a kill comes at one of this many calls to the platform, or else when it would be over. */
const CALLS_MAX = 60
/** As many as one request makes. */
const CALLS_FEW = 5
const STALL_MS_MIN = 200
const STALL_MS_MORE = 3000

export const powerCut: Fault = (town, name, random) => {
  const { machine } = town.node(name)
  if (!machine.isUp) return undefined
  const { lives } = machine
  const hear = (): void => town.struck('power-cut', [name])
  const calls = random.next() < 0.5 ? CALLS_FEW : CALLS_MAX
  machine.crashAfter(1 + Math.floor(random.next() * calls), hear)
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
