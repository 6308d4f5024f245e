/**
 * One seed, from three empty machines to the last check.
 *
 *     start ─▶ prepare ─▶ safety: clients and faults ─▶ liveness: no faults, all up, repaired ─▶ check ─▶ stop
 *
 * Safety: nothing a client was told is ever untrue. Liveness: once nothing is wrong any more, everything is well again
 * within a stated time, every queue runs empty and every node stops when it is told to, with nothing left behind.
 */
import { SeededRandom } from '@cairn/kernel/testing'
import { VirtualWorld } from '../virtual/world.ts'
import type { ServiceName } from './answer.ts'
import { Cluster } from './cluster.ts'
import { FaultSchedule } from './fault-schedule.ts'
import type { FaultKind } from './faults/fault.ts'
import type { Counts } from './matrix.ts'
import { type Plan, type Step, spareSteps } from './plan.ts'
import { checkQueues, checkQueuesEmpty } from './queues.ts'
import { repair, untilReady } from './repair.ts'
import type { Tally } from './tally.ts'
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

export interface SeedReport {
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
export class SeedFailure extends Error {
  readonly trace: readonly string[]

  constructor(cause: unknown, trace: readonly string[]) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.trace = trace
  }
}

/** `prepare` may do something to the world before anything happens in it. */
export async function simulateSeed(
  plan: Plan,
  makers: readonly MakeWorkload[],
  prepare: (world: VirtualWorld) => void = () => undefined,
): Promise<SeedReport> {
  const world = new VirtualWorld(plan.seed)
  prepare(world)
  const workloads = makers.map((make) => make(world.nextSeed()))
  const cluster = new Cluster(world, workloads)
  try {
    await world.run(live(cluster, plan, workloads), VIRTUAL_MS_MAX)
    await world.runUntilIdle()
    const left = world.leaks()
    if (left.length > 0) throw new Error(`Left behind: ${left.join(', ')}`)
  } catch (cause) {
    throw new SeedFailure(cause, cluster.trace.lines)
  }
  return {
    seed: plan.seed,
    traceHash: world.trace.hash(),
    events: world.trace.count,
    virtualMs: world.clock.now(),
    faults: cluster.faults,
    tallies: Object.fromEntries(workloads.map(({ service, tally }) => [service, tally])),
    matrix: cluster.matrix.counts,
  }
}

async function live(cluster: Cluster, plan: Plan, workloads: readonly Workload[]): Promise<void> {
  await Promise.all(cluster.nodes.map(async ({ name }) => await cluster.bringUp(name)))
  await untilReady(cluster)
  for (const workload of workloads) await workload.prepare?.(cluster)
  cluster.keepRegistry()
  await new Safety(cluster, plan, workloads).run()
  cluster.pacing.watch()
  await repair(cluster)
  cluster.pacing.check()
  await Promise.all(workloads.map(async (workload) => await workload.settle?.(cluster)))
  for (const workload of workloads) await workload.check(cluster)
  checkQueues(cluster)
  await checkQueuesEmpty(cluster)
  checkVacuity(cluster, plan, workloads)
  await Promise.all(cluster.nodes.map(async ({ name }) => await cluster.bringDown(name)))
  await cluster.close()
}

/** A run in which nothing was promised or nothing went wrong proves nothing. */
function checkVacuity(cluster: Cluster, plan: Plan, workloads: readonly Workload[]): void {
  if (isWhole(plan) && cluster.faults < FAULTS_MIN) throw new Error(`Only ${cluster.faults} faults struck.`)
  if (isWhole(plan) && !hasCrashed(cluster)) throw new Error('No node crashed.')
  for (const { service, tally } of workloads) {
    if (tally.operations > 0 && tally.acknowledged === 0) throw new Error(`${service} acknowledged nothing.`)
  }
}

function hasCrashed(cluster: Cluster): boolean {
  return cluster.nodes.some((node) => cluster.hasMet(node, CRASHES))
}

/** One that was made small to tell of a failure may have any number of faults. */
function isWhole({ steps }: Plan): boolean {
  return steps.filter(({ tag }) => tag === 'begin-fault').length >= FAULTS_MIN
}

/** Clients that take the steps of the plan one after the other, several at a time. */
class Safety {
  readonly #cluster: Cluster
  readonly #plan: Plan
  readonly #steps: Step[]
  readonly #workloads: readonly Workload[]
  readonly #schedule: FaultSchedule
  #taken = 0
  #working = 0

  constructor(cluster: Cluster, plan: Plan, workloads: readonly Workload[]) {
    this.#cluster = cluster
    this.#plan = plan
    this.#steps = [...plan.steps]
    this.#workloads = workloads
    this.#schedule = new FaultSchedule(cluster)
  }

  async run(): Promise<void> {
    await this.#takeAll()
    // Some faults wait for somebody to hit, and nobody came; some find nobody up.
    for (let spare = 1; isWhole(this.#plan) && this.#hasMetTooLittle() && spare <= FAULTS_MIN; spare += 1) {
      this.#steps.push(...spareSteps(this.#plan.seed, this.#steps.length))
      await this.#takeAll()
    }
    await this.#schedule.endAll()
  }

  #hasMetTooLittle(): boolean {
    return this.#cluster.faults < FAULTS_MIN || !hasCrashed(this.#cluster)
  }

  async #takeAll(): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, async () => await this.#client()))
  }

  async #client(): Promise<void> {
    for (;;) {
      while (!this.#mayGoOn()) await this.#cluster.poller.until(() => this.#mayGoOn(), WAIT_MS)
      const step = this.#steps[this.#taken]
      if (step === undefined) return
      const working = this.#isExclusive(step) ? CLIENTS : 1
      this.#taken += 1
      this.#working += working
      await this.#take(step)
      this.#working -= working
      this.#cluster.poller.changed()
    }
  }

  /** What must not meet anything else is taken by the last client that works; the others wait until it has begun. */
  #mayGoOn(): boolean {
    const step = this.#steps[this.#taken]
    return step === undefined || this.#working < (this.#isExclusive(step) ? 1 : CLIENTS)
  }

  #isExclusive(step: Step): boolean {
    return step.tag === 'begin-fault' && this.#schedule.isExclusive(step.fault)
  }

  async #take(step: Step): Promise<void> {
    // Looks at the highest they have been, so that now and then is enough; a life that ends takes its own along.
    if (step.tag !== 'operate') checkQueues(this.#cluster)
    if (step.tag === 'begin-fault') await this.#schedule.begin(step.fault)
    else if (step.tag === 'end-fault') await this.#schedule.end(step.fault)
    else {
      const random = new SeededRandom(step.dice)
      const workload = this.#workloads.find(({ service }) => service === step.service)
      await workload?.operate(this.#cluster, random)
      await this.#cluster.world.sleep(random.next() * THINK_MS)
    }
  }
}
