/**
 * Whether what overlapping clients saw could have happened one after the other.
 *
 *     client 1   ├── commit ──┤
 *     client 2       ├─ read: 3 ─┤   ├─ read: 4 ─┤       an order that respects what ended before what began, and in
 *     client 3            ├──── commit: 4 ────┤          which each answer is the one a single spec would give
 *
 * Wing and Gong's search: of the operations left, one that began before any other ended goes next, if its answer is
 * right in the state so far; a state reached before with the same operations left is not looked at again.
 */

export interface Operation<Call, Result> {
  readonly client: string
  readonly call: Call
  readonly result: Result
  /** Places in the order of all invocations and responses. */
  readonly invoked: number
  readonly responded: number
  /** Virtual milliseconds of the two, for people. */
  readonly at: readonly [number, number]
}

/** One spec, who serves one after the other. */
export interface SequentialSpec<State, Call, Result> {
  readonly initial: State
  /** The state after this, or nothing if the answer is wrong in this state. */
  serve(state: State, call: Call, result: Result): State | undefined
  key(state: State): string
  /** Whether a call that is right here may as well go here, whatever else is under way. */
  isEager(call: Call): boolean
}

export interface Verdict {
  readonly isLinearizable: boolean
  /** The most operations that could be put in order. */
  readonly longest: number
  /** States looked at. */
  readonly states: number
}

export function checkLinearizable<State, Call, Result>(
  history: readonly Operation<Call, Result>[],
  spec: SequentialSpec<State, Call, Result>,
): Verdict {
  const operations = history.toSorted((a, b) => a.invoked - b.invoked)
  const isDone = new Uint8Array(operations.length)
  const seen = new Set<string>()
  let longest = 0

  const search = (state: State, done: number): boolean => {
    longest = Math.max(longest, done)
    if (done === operations.length) return true
    const key = `${String.fromCharCode(...isDone)} ${spec.key(state)}`
    if (seen.has(key)) return false
    seen.add(key)
    const left = operations.flatMap((operation, at) => (isDone[at] === 0 ? [{ operation, at }] : []))
    const firstEnd = Math.min(...left.map(({ operation }) => operation.responded))
    for (const { operation, at } of left) {
      if (operation.invoked > firstEnd) break
      const next = spec.serve(state, operation.call, operation.result)
      if (next === undefined) continue
      isDone[at] = 1
      if (search(next, done + 1)) return true
      isDone[at] = 0
      // So may what changes nothing: to let it wait cannot help.
      if (next === state || spec.isEager(operation.call)) return false
    }
    return false
  }

  return { isLinearizable: search(spec.initial, 0), longest, states: seen.size }
}
