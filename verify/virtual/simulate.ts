import { VirtualWorld } from './world.ts'

export interface SimulationReport {
  readonly seed: number
  /** Equal for equal runs; see `Trace`. */
  readonly traceHash: string
  readonly events: number
  readonly virtualMs: number
}

export type Scenario = (world: VirtualWorld) => Promise<void>

/**
 * Runs a scenario to its end and the world to rest. Throws what the scenario throws, with the seed; and if a machine
 * that is still up holds a task, a timer or a file.
 */
export async function simulate(seed: number, scenario: Scenario): Promise<SimulationReport> {
  const world = new VirtualWorld(seed)
  try {
    await world.run(scenario(world))
  } catch (cause) {
    throw new Error(
      `The scenario failed with seed ${seed}: ${String(cause)}\n${world.trace.tail().slice(-40).join('\n')}`,
      { cause },
    )
  }
  await world.runUntilIdle()
  const left = world.leaks()
  if (left.length > 0) throw new Error(`The scenario with seed ${seed} left behind: ${left.join(', ')}`)
  return { seed, traceHash: world.trace.hash(), events: world.trace.count, virtualMs: world.clock.now() }
}
