/**
 * Liveness on the graph of all states: does every fair run get to its goal?
 *
 * A run misses its goal for ever in one of two ways: it stops in a terminal state short of the goal, or
 * it goes round in a loop of states short of the goal. A loop counts only if it is weakly fair, that is,
 * if no task could have moved in every state of the loop and yet never did. All loops among a set of
 * states live in its strongly connected components, and if any loop of a component is fair then the one
 * that visits the whole component is; so one look at each component decides.
 */
import type { Node } from './hashed.ts'
import type { Choice } from './world.ts'

export interface LivenessFailure {
  readonly goal: string
  readonly schedule: readonly Choice[]
  /** Empty when the run stops short of the goal instead of going round. */
  readonly loop: readonly Choice[]
}

export function livenessFailures(nodes: readonly Node[], scheduleTo: (at: number) => Choice[]): LivenessFailure[] {
  const goals = new Set(nodes.flatMap((node) => node.unmetGoals))
  const failures: LivenessFailure[] = []
  for (const goal of goals) {
    const short = new Map([...nodes.entries()].filter(([, node]) => !node.isFaulty && node.unmetGoals.includes(goal)))
    for (const [at, node] of short) {
      if (node.choices.length === 0) failures.push({ goal, schedule: scheduleTo(at), loop: [] })
    }
    for (const component of components(short)) {
      const loop = fairLoop(component)
      if (loop !== undefined) failures.push({ goal, schedule: scheduleTo(loop.start), loop: loop.choices })
    }
  }
  return failures.sort((a, b) => a.schedule.length + a.loop.length - b.schedule.length - b.loop.length)
}

type Graph = ReadonlyMap<number, Node>

/** The edges of a node that stay inside the graph. */
function edges(graph: Graph, at: number): { choice: Choice; to: number }[] {
  const { choices, next } = graph.get(at) ?? { choices: [], next: [] }
  return choices.flatMap((choice, index) => {
    const to = next[index]
    return to !== undefined && graph.has(to) ? [{ choice, to }] : []
  })
}

/** Tarjan's strongly connected components, with an explicit stack because the graph is deep. */
function components(graph: Graph): Graph[] {
  const found: Graph[] = []
  const low = new Map<number, number>()
  const open: number[] = []
  const isOpen = new Set<number>()
  for (const root of graph.keys()) {
    if (low.has(root)) continue
    const calls = [{ at: root, index: low.size, rest: edges(graph, root) }]
    for (let call = calls.at(-1); call !== undefined; call = calls.at(-1)) {
      if (!low.has(call.at)) {
        low.set(call.at, call.index)
        open.push(call.at)
        isOpen.add(call.at)
      }
      const edge = call.rest.pop()
      if (edge !== undefined) {
        if (!low.has(edge.to)) calls.push({ at: edge.to, index: low.size, rest: edges(graph, edge.to) })
        else if (isOpen.has(edge.to)) lower(low, call.at, edge.to)
        continue
      }
      calls.pop()
      const caller = calls.at(-1)
      if (caller !== undefined) lower(low, caller.at, call.at)
      if (low.get(call.at) !== call.index) continue
      const component = new Map<number, Node>()
      for (const at of open.splice(open.lastIndexOf(call.at))) {
        isOpen.delete(at)
        const node = graph.get(at)
        if (node !== undefined) component.set(at, node)
      }
      found.push(component)
    }
  }
  return found
}

function lower(low: Map<number, number>, at: number, other: number): void {
  low.set(at, Math.min(low.get(at) ?? at, low.get(other) ?? other))
}

/** A loop through the component that treats every task fairly, if there is one. */
function fairLoop(component: Graph): { start: number; choices: Choice[] } | undefined {
  const start = Math.min(...component.keys())
  const tasks = new Set([...component.values()].flatMap(({ choices }) => choices.map(({ task }) => task)))
  const loop: Choice[] = []
  let at = start
  const go = (found: Way | undefined): boolean => {
    loop.push(...(found?.choices ?? []))
    at = found?.end ?? at
    return found !== undefined
  }
  for (const task of tasks) {
    const rests = [...component].some(([, node]) => node.choices.every((choice) => choice.task !== task))
    const fair = rests
      ? go(
          way(component, at, (state) => component.get(state)?.choices.every((choice) => choice.task !== task) === true),
        )
      : go(way(component, at, (_, by) => by?.task === task))
    if (!fair) return undefined
  }
  const back = way(component, at, (state, by) => state === start && (by !== undefined || loop.length > 0))
  return go(back) ? { start, choices: loop } : undefined
}

interface Way {
  readonly choices: Choice[]
  readonly end: number
}

/** A shortest way from `from` to a state, or over a move, that `isGoal` accepts. */
function way(graph: Graph, from: number, isGoal: (at: number, by?: Choice) => boolean): Way | undefined {
  if (isGoal(from)) return { choices: [], end: from }
  const seen = new Set([from])
  const ways: Way[] = [{ choices: [], end: from }]
  for (const { choices, end } of ways) {
    for (const { choice, to } of edges(graph, end)) {
      const longer = { choices: [...choices, choice], end: to }
      if (isGoal(to, choice)) return longer
      if (seen.has(to)) continue
      seen.add(to)
      ways.push(longer)
    }
  }
  return undefined
}
