import type { SuiteTest, Verdict } from './suite.ts'

export type Verdicts = Readonly<Record<string, Verdict>>

export interface Points {
  readonly passed: number
  readonly of: number
}

export interface Score {
  readonly name: string
  readonly required: Points
  readonly optimal: Points
}

export interface Failure {
  readonly id: string
  readonly kind: 'required' | 'optimal'
  readonly found: string
}

/** A test that builds on one that fails, through however many others, says nothing by passing. */
function passing(tests: readonly SuiteTest[], verdicts: Verdicts): ReadonlySet<string> {
  const byId = new Map(tests.map((test) => [test.id, test]))
  const known = new Map<string, boolean>()
  const passes = (id: string): boolean => {
    const before = known.get(id)
    if (before !== undefined) return before
    // Of tests that build on each other in a ring none would count.
    known.set(id, false)
    const holds = verdicts[id] === true && (byId.get(id)?.depends_on ?? []).every(passes)
    known.set(id, holds)
    return holds
  }
  return new Set([...byId.keys()].filter(passes))
}

export function scoreOf(name: string, tests: readonly SuiteTest[], verdicts: Verdicts): Score {
  const passed = passing(tests, verdicts)
  const points = (kind: 'required' | 'optimal'): Points => {
    const own = tests.filter((test) => (test.kind ?? 'required') === kind)
    return { passed: own.filter(({ id }) => passed.has(id)).length, of: own.length }
  }
  return { name, required: points('required'), optimal: points('optimal') }
}

/** Every test that counts and is not passed, and what was found in place of what it wants. */
export function failuresOf(tests: readonly SuiteTest[], verdicts: Verdicts): Failure[] {
  const passed = passing(tests, verdicts)
  return tests.flatMap((test): Failure[] => {
    const { id, kind = 'required', depends_on: needed = [] } = test
    if (kind === 'check' || passed.has(id)) return []
    const verdict = verdicts[id]
    return [{ id, kind, found: verdict === true ? `depends on ${needed.join(', ')}` : (verdict?.[1] ?? 'did not run') }]
  })
}
