/** Many seeds, in one process or in several at once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { type Plan, planOf } from './plan.ts'
import { SeedFailure, type SeedReport, simulateSeed } from './simulate-seed.ts'
import { WORKLOADS } from './workloads.ts'

export type SeedOutcome =
  | { readonly tag: 'held'; readonly report: SeedReport }
  | { readonly tag: 'failed'; readonly seed: number; readonly message: string; readonly trace: readonly string[] }

/** A seed makes a lot that soon nobody needs: with room for it, little of that is ever copied. */
const FLAGS = ['--min-semi-space-size=128', '--max-semi-space-size=128']
/** Nodes start and end all the time, each with schemas of its own: to compile them takes longer than it ever saves. */
z.config({ jitless: true })
const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

export async function runPlan(plan: Plan): Promise<SeedOutcome> {
  try {
    return { tag: 'held', report: await simulateSeed(plan, WORKLOADS) }
  } catch (error) {
    if (!(error instanceof SeedFailure)) throw error
    return { tag: 'failed', seed: plan.seed, message: error.message, trace: error.trace }
  }
}

export async function* runHere(seeds: readonly number[]): AsyncGenerator<SeedOutcome> {
  for (const seed of seeds) yield await runPlan(planOf(seed))
}

/** The seeds, dealt to so many processes; `hear` is told each outcome as it comes. */
export async function runInProcesses(
  seeds: readonly number[],
  jobs: number,
  hear: (outcome: SeedOutcome) => void,
): Promise<void> {
  const hands = Array.from({ length: jobs }, (_, job) => seeds.filter((_seed, at) => at % jobs === job))
  await Promise.all(hands.filter((hand) => hand.length > 0).map(async (hand) => await runProcess(hand, hear)))
}

async function runProcess(seeds: readonly number[], hear: (outcome: SeedOutcome) => void): Promise<void> {
  const child = spawn(process.execPath, [...FLAGS, MAIN, '--json', '--seeds', seeds.join(',')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  let heard = 0
  for await (const line of createInterface({ input: child.stdout })) {
    hear(JSON.parse(line) as SeedOutcome)
    heard += 1
  }
  const [code] = (await ended) as [number | null]
  if (heard < seeds.length) throw new Error(`A process ended with ${code} before seed ${seeds[heard]} was done.`)
}
