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
  /** The search ends with the first schedule that shows this fault. */
  readonly until?: string
}

/** The first 256 ways back to a known state, then every 16th, are walked on, to see that they lead to the same futures. */
const AUDIT_FIRST = 256
const AUDIT_EVERY = 16

/**
 * Visits every distinct state once, nearest first, so the first schedule that shows a fault is a
 * shortest one. A state is its fingerprint; a state already known is not explored again.
 *
 * That is sound only if a fingerprint decides the future. So every state must come out again when its
 * schedule is repeated (determinism), every other way into it must show the same faults and choices, and
 * a sample of those ways must lead on to the same states (nothing is missing from the fingerprint).
 */
export function exploreHashed(model: Model, { maxStates = 500_000, until }: HashedOptions = {}): Outcome {
  return endOutcome(new HashedSearch(model, maxStates).run(until))
}

class HashedSearch {
  readonly #model: Model
  readonly #maxStates: number
  readonly #outcome: Outcome
  readonly #nodes: Node[] = []
  readonly #known = new Map<string, number>()
  readonly #otherWays: { node: number; schedule: Choice[] }[] = []
  /** The worlds that stand in states not yet expanded: one of the ways on from each needs no repetition. */
  readonly #standing = new Map<number, World>()

  constructor(model: Model, maxStates: number) {
    this.#model = model
    this.#maxStates = maxStates
    this.#outcome = beginOutcome(model, 'hashed')
  }

  run(until?: string): Outcome {
    this.#visit(new World(this.#model), -1, undefined)
    const isFound = (): boolean => until !== undefined && this.#outcome.failures.has(until)
    for (let at = 0; at < this.#nodes.length && !isFound(); at += 1) this.#expand(at)
    this.#outcome.states = this.#nodes.length
    if (isFound()) return this.#outcome
    // A fault stands by itself: its schedule shows it. Only a clean result that is asked for rests on the fingerprint.
    if (this.#outcome.failures.size === 0 && until === undefined) this.#audit()
    for (const { goal, schedule, loop } of livenessFailures(this.#nodes, (at) => this.#scheduleTo(at))) {
      recordFault(this.#outcome, missedGoal(goal), schedule, loop)
    }
    return this.#outcome
  }

  #expand(at: number): void {
    const node = this.#node(at)
    if (node.isFaulty) return
    const schedule = this.#scheduleTo(at)
    const standing = this.#standing.get(at)
    this.#standing.delete(at)
    for (const [index, choice] of node.choices.entries()) {
      const isSecond = index === 1 && standing !== undefined
      const world = isSecond ? standing : new World(this.#model, schedule)
      if (index === 0 && this.#known.get(world.fingerprint()) !== at) throw nondeterminism(this.#model)
      world.take(choice)
      this.#outcome.runs += 1
      node.next.push(this.#visit(world, at, choice))
    }
  }

  /** The number of the node for this state, a new one if it was never seen. */
  #visit(world: World, parent: number, by: Choice | undefined): number {
    const fingerprint = world.fingerprint()
    const choices = world.choices()
    const faults = world.faults(choices.length === 0)
    const known = this.#known.get(fingerprint)
    if (known !== undefined) {
      const node = this.#node(known)
      if (node.isFaulty !== faults.length > 0 || !areEqual(node.choices, choices))
        throw incompleteFingerprint(this.#model)
      const isSampled = this.#otherWays.length < AUDIT_FIRST || this.#outcome.runs % AUDIT_EVERY === 0
      if (isSampled && by !== undefined)
        this.#otherWays.push({ node: known, schedule: [...this.#scheduleTo(parent), by] })
      return known
    }
    const at = this.#nodes.length
    if (at >= this.#maxStates) throw new Error(`${this.#model.name} has more than ${this.#maxStates} states.`)
    this.#known.set(fingerprint, at)
    if (choices.length > 1) this.#standing.set(at, world)
    this.#nodes.push({ parent, by, choices, unmetGoals: world.unmetGoals(), isFaulty: faults.length > 0, next: [] })
    if (choices.length === 0) this.#outcome.terminals.add(fingerprint)
    for (const fault of faults) recordFault(this.#outcome, fault, this.#scheduleTo(at))
    return at
  }

  #audit(): void {
    for (const { node, schedule } of this.#otherWays) {
      const { choices, next } = this.#node(node)
      for (const [index, choice] of choices.entries()) {
        const world = new World(this.#model, [...schedule, choice])
        if (this.#known.get(world.fingerprint()) !== next[index]) throw incompleteFingerprint(this.#model)
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

function areEqual(some: readonly Choice[], others: readonly Choice[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ task, branch }, index) => task === others[index]?.task && branch === others[index].branch)
  )
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
