import { livenessFailures } from './liveness.ts'
import type { Model } from './model.ts'
import { beginOutcome, endOutcome, missedGoal, type Outcome, recordFault } from './outcome.ts'
import { type Choice, World } from './world.ts'

/** One distinct state. `parent` and `by` lead back to the start by a shortest way. */
export interface Node {
  readonly parent: number
  readonly by: Choice | undefined
  readonly choices: readonly Choice[]
  readonly unmetGoals: readonly string[]
  readonly isFaulty: boolean
  /** The node each choice leads to, filled when the node is expanded. */
  readonly next: number[]
}

export interface HashedOptions {
  /** A model that grows past this is too big, or does not end. */
  readonly maxStates?: number
}

/** Every 16th way back to a known state is walked again, to see that it leads to the same futures. */
const AUDIT_EVERY = 16

/**
 * Visits every distinct state once, nearest first, so the first schedule that shows a fault is a
 * shortest one. A state is its fingerprint; a state already known is not explored again.
 *
 * That is sound only if a fingerprint decides the future. Two checks guard it: the state a node was
 * reached by must come out again when its schedule is repeated (determinism), and a sample of the other
 * ways into a state must offer the same choices with the same results (nothing is missing from it).
 */
export function exploreHashed(model: Model, { maxStates = 500_000 }: HashedOptions = {}): Outcome {
  return endOutcome(new HashedSearch(model, maxStates).run())
}

class HashedSearch {
  readonly #model: Model
  readonly #maxStates: number
  readonly #outcome: Outcome
  readonly #nodes: Node[] = []
  readonly #known = new Map<string, number>()
  readonly #otherWays: { node: number; schedule: Choice[] }[] = []

  constructor(model: Model, maxStates: number) {
    this.#model = model
    this.#maxStates = maxStates
    this.#outcome = beginOutcome(model, 'hashed')
  }

  run(): Outcome {
    this.#visit(new World(this.#model), -1, undefined)
    for (let at = 0; at < this.#nodes.length; at += 1) this.#expand(at)
    this.#audit()
    for (const { goal, schedule, loop } of livenessFailures(this.#nodes, (at) => this.#scheduleTo(at))) {
      recordFault(this.#outcome, missedGoal(goal), schedule, loop)
    }
    this.#outcome.states = this.#nodes.length
    return this.#outcome
  }

  #expand(at: number): void {
    const node = this.#node(at)
    if (node.isFaulty) return
    const schedule = this.#scheduleTo(at)
    for (const [index, choice] of node.choices.entries()) {
      const world = new World(this.#model, schedule)
      if (index === 0 && this.#known.get(world.fingerprint()) !== at) throw nondeterminism(this.#model)
      world.take(choice)
      this.#outcome.runs += 1
      node.next.push(this.#visit(world, at, choice))
    }
  }

  /** The number of the node for this state, a new one if it was never seen. */
  #visit(world: World, parent: number, by: Choice | undefined): number {
    const fingerprint = world.fingerprint()
    const known = this.#known.get(fingerprint)
    if (known !== undefined) {
      if (this.#outcome.runs % AUDIT_EVERY === 0 && by !== undefined) {
        this.#otherWays.push({ node: known, schedule: [...this.#scheduleTo(parent), by] })
      }
      return known
    }
    const at = this.#nodes.length
    if (at >= this.#maxStates) throw new Error(`${this.#model.name} has more than ${this.#maxStates} states.`)
    this.#known.set(fingerprint, at)
    const choices = world.choices()
    const faults = world.faults(choices.length === 0)
    this.#nodes.push({ parent, by, choices, unmetGoals: world.unmetGoals(), isFaulty: faults.length > 0, next: [] })
    if (choices.length === 0) this.#outcome.terminals.add(fingerprint)
    if (faults.length > 0) for (const fault of faults) recordFault(this.#outcome, fault, this.#scheduleTo(at))
    return at
  }

  #audit(): void {
    for (const { node, schedule } of this.#otherWays) {
      const { choices, next } = this.#node(node)
      const found = new World(this.#model, schedule).choices()
      if (JSON.stringify(found) !== JSON.stringify(choices)) throw incompleteFingerprint(this.#model)
      for (const [index, to] of next.entries()) {
        const world = new World(this.#model, [...schedule, ...choices.slice(index, index + 1)])
        if (this.#known.get(world.fingerprint()) !== to) throw incompleteFingerprint(this.#model)
      }
    }
  }

  #scheduleTo(at: number): Choice[] {
    const schedule: Choice[] = []
    for (let node = this.#node(at); node.by !== undefined; node = this.#node(node.parent)) schedule.push(node.by)
    return schedule.reverse()
  }

  #node(at: number): Node {
    const node = this.#nodes[at]
    if (node === undefined) throw new RangeError(`There is no state ${at}.`)
    return node
  }
}

function nondeterminism(model: Model): Error {
  return new Error(`${model.name} is not deterministic: the same schedule led to two different states.`)
}

function incompleteFingerprint(model: Model): Error {
  return new Error(
    `${model.name}: two ways into one state have different futures. Something that decides the future is missing ` +
      `from the model's state or from the locals of a yield.`,
  )
}
