/**
 * One seed, from three empty machines to the last check.
 *
 *     start ─▶ prepare ─▶ safety: clients and faults ─▶ liveness: no faults, all up, repaired ─▶ check ─▶ stop
 *
 * Safety: nothing a client was told is ever untrue. Liveness: once nothing is wrong any more, everything is well again
 * within a stated time, every queue runs empty and every node stops when it is told to, with nothing left behind.
 */
import { SeededRandom } from '@cairn/kernel'
import { VirtualWorld } from '../virtual/world.ts'
import type { ServiceName } from './answer.ts'
import type { FaultKind } from './faults/fault.ts'
import type { Counts } from './matrix.ts'
import { type Plan, type Step, spareSteps } from './plan.ts'
import { checkQueues, checkQueuesEmpty } from './queues.ts'
import { repair, untilReady } from './repair.ts'
import { Strikes } from './strikes.ts'
import type { Tally } from './tally.ts'
import { Town } from './town.ts'
import type { MakeWorkload, Workload } from './workload.ts'

const CLIENTS = 4
/** Between two operations of a client, at most. */
const THINK_MS = 60
/** After which a client that has to wait looks again. */
const WAIT_MS = 10
/** Fewer prove too little. */
const FAULTS_MIN = 5
/** At least one of them. */
const CRASHES: readonly FaultKind[] = ['power-cut', 'blackout', 'kill']
/** A seed that takes longer never comes to rest. */
const VIRTUAL_MS_MAX = 600_000

export interface TownReport {
  readonly seed: number
  /** Covers every platform call and its outcome, and every packet. */
  readonly traceHash: string
  readonly events: number
  readonly virtualMs: number
  readonly faults: number
  readonly tallies: Readonly<Partial<Record<ServiceName, Tally>>>
  readonly matrix: Counts
}

/** A seed that did not hold, with what happened before. */
export class TownFailure extends Error {
  readonly story: readonly string[]

  constructor(cause: unknown, story: readonly string[]) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.story = story
  }
}

/** `prepare` may do something to the world before anything happens in it. */
export async function simulateTown(
  plan: Plan,
  makers: readonly MakeWorkload[],
  prepare: (world: VirtualWorld) => void = () => undefined,
): Promise<TownReport> {
  const world = new VirtualWorld(plan.seed)
  prepare(world)
  const workloads = makers.map((make) => make(world.nextSeed()))
  const town = new Town(world, workloads)
  try {
    await world.run(live(town, plan, workloads), VIRTUAL_MS_MAX)
    await world.runUntilIdle()
    const left = world.leaks()
    if (left.length > 0) throw new Error(`Left behind: ${left.join(', ')}`)
  } catch (cause) {
    throw new TownFailure(cause, town.story.lines)
  }
  return {
    seed: plan.seed,
    traceHash: world.trace.hash(),
    events: world.trace.count,
    virtualMs: world.clock.now(),
    faults: town.faults,
    tallies: Object.fromEntries(workloads.map(({ service, tally }) => [service, tally])),
    matrix: town.matrix.counts,
  }
}

async function live(town: Town, plan: Plan, workloads: readonly Workload[]): Promise<void> {
  await Promise.all(town.nodes.map(async ({ name }) => await town.bringUp(name)))
  await untilReady(town)
  for (const workload of workloads) await workload.prepare?.(town)
  await new Safety(town, plan, workloads).run()
  town.pacing.watch()
  await repair(town)
  town.pacing.check()
  await Promise.all(workloads.map(async (workload) => await workload.settle?.(town)))
  for (const workload of workloads) await workload.check(town)
  checkQueues(town)
  await checkQueuesEmpty(town)
  checkVacuity(town, plan, workloads)
  await Promise.all(town.nodes.map(async ({ name }) => await town.bringDown(name)))
  await town.close()
}

/** A run in which nothing was promised or nothing went wrong proves nothing. */
function checkVacuity(town: Town, plan: Plan, workloads: readonly Workload[]): void {
  if (isWhole(plan) && town.faults < FAULTS_MIN) throw new Error(`Only ${town.faults} faults struck.`)
  if (isWhole(plan) && !hasCrashed(town)) throw new Error('No node crashed.')
  for (const { service, tally } of workloads) {
    if (tally.operations > 0 && tally.acknowledged === 0) throw new Error(`${service} acknowledged nothing.`)
  }
}

function hasCrashed(town: Town): boolean {
  return town.nodes.some((node) => town.hasMet(node, CRASHES))
}

/** One that was made small to tell of a failure may have any number of faults. */
function isWhole({ steps }: Plan): boolean {
  return steps.filter(({ tag }) => tag === 'strike').length >= FAULTS_MIN
}

/** Clients that take the steps of the plan one after the other, several at a time. */
class Safety {
  readonly #town: Town
  readonly #plan: Plan
  readonly #steps: Step[]
  readonly #workloads: readonly Workload[]
  readonly #strikes: Strikes
  #taken = 0
  #working = 0

  constructor(town: Town, plan: Plan, workloads: readonly Workload[]) {
    this.#town = town
    this.#plan = plan
    this.#steps = [...plan.steps]
    this.#workloads = workloads
    this.#strikes = new Strikes(town)
  }

  async run(): Promise<void> {
    await this.#takeAll()
    // Some faults wait for somebody to hit, and nobody came; some find nobody up.
    for (let spare = 1; isWhole(this.#plan) && this.#hasMetTooLittle() && spare <= FAULTS_MIN; spare += 1) {
      this.#steps.push(...spareSteps(this.#plan.seed, this.#steps.length))
      await this.#takeAll()
    }
    await this.#strikes.mendAll()
  }

  #hasMetTooLittle(): boolean {
    return this.#town.faults < FAULTS_MIN || !hasCrashed(this.#town)
  }

  async #takeAll(): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, async () => await this.#client()))
  }

  async #client(): Promise<void> {
    for (;;) {
      while (!this.#mayGoOn()) await this.#town.lookout.until(() => this.#mayGoOn(), WAIT_MS)
      const step = this.#steps[this.#taken]
      if (step === undefined) return
      const working = this.#isExclusive(step) ? CLIENTS : 1
      this.#taken += 1
      this.#working += working
      await this.#take(step)
      this.#working -= working
      this.#town.lookout.changed()
    }
  }

  /** What must not meet anything else is taken by the last client that works; the others wait until it has begun. */
  #mayGoOn(): boolean {
    const step = this.#steps[this.#taken]
    return step === undefined || this.#working < (this.#isExclusive(step) ? 1 : CLIENTS)
  }

  #isExclusive(step: Step): boolean {
    return step.tag === 'strike' && this.#strikes.isExclusive(step.strike)
  }

  async #take(step: Step): Promise<void> {
    // Looks at the highest they have been, so that now and then is enough; a life that ends takes its own along.
    if (step.tag !== 'operate') checkQueues(this.#town)
    if (step.tag === 'strike') await this.#strikes.begin(step.strike)
    else if (step.tag === 'mend') await this.#strikes.mend(step.strike)
    else {
      const random = new SeededRandom(step.dice)
      const workload = this.#workloads.find(({ service }) => service === step.service)
      await workload?.operate(this.#town, random)
      await this.#town.world.sleep(random.next() * THINK_MS)
    }
  }
}
