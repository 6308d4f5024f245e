/** Seeds of the simulators, one after the other, until one complains. Runs in the tree with the plant. */
import { simulateEdge } from '../../services/edge/test/simulation.ts'
import { simulateIndex } from '../../services/index/test/simulation.ts'
import { simulateInterop } from '../../services/interop/test/simulation.ts'
import { simulateRegistry } from '../../services/registry/test/simulation.ts'
import { simulateDrives, simulateNodes } from '../../services/storage/test/copies-simulation.ts'
import { simulateStorage } from '../../services/storage/test/simulation.ts'
import { simulateShards } from '../chaos/erasure/shards-simulation.ts'

export type Simulator = 'storage' | 'drives' | 'nodes' | 'shards' | 'registry' | 'index' | 'edge' | 'interop'

/** NetworkConditions changes with the seed: a third of them with a drive that does what it should. */
const FAULT_RATES: readonly number[] = [0, 0.005, 0.02]
const faultRateOf = (seed: number): number => FAULT_RATES[seed % FAULT_RATES.length] ?? 0

const SIMULATORS: Readonly<Record<Simulator, (seed: number) => Promise<unknown>>> = {
  storage: async (seed) => await simulateStorage(seed, { operations: 25, faultRate: faultRateOf(seed) }),
  drives: simulateDrives,
  nodes: simulateNodes,
  shards: simulateShards,
  registry: async (seed) => await simulateRegistry(seed, { operations: 12, faultRate: faultRateOf(seed) }),
  index: async (seed) => await simulateIndex(seed, { operations: 12 }),
  edge: async (seed) => await simulateEdge(seed, { operations: 12, lives: 4, failureRate: (seed % 4) * 0.25 }),
  interop: async (seed) => await simulateInterop(seed, { operations: 12, faultRate: faultRateOf(seed) }),
}

export interface SeedBounds {
  readonly seedsMax: number
  readonly secondsMax: number
}

/** Tells each seed as it begins; the complaint of the first that fails, or nothing and how many seeds of each ran. */
export async function simulateSeeds(
  simulators: readonly Simulator[],
  { seedsMax, secondsMax }: SeedBounds,
  tell: (line: string) => void,
): Promise<{ readonly complaint: string | undefined; readonly seeds: number }> {
  const endsAt = performance.now() + 1000 * secondsMax
  let seeds = 0
  for (let seed = 1; seed <= seedsMax; seed += 1) {
    for (const name of simulators) {
      if (performance.now() > endsAt) return { complaint: undefined, seeds }
      tell(`${name} seed ${seed}`)
      try {
        await SIMULATORS[name](seed)
      } catch (error) {
        return { complaint: `${name}, seed ${seed}: ${String(error)}`, seeds: seed }
      }
    }
    seeds = seed
  }
  return { complaint: undefined, seeds }
}
