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

/** A test that builds on one that fails says nothing by passing. */
function passes({ id, depends_on: needed = [] }: SuiteTest, verdicts: Verdicts): boolean {
  return verdicts[id] === true && needed.every((other) => verdicts[other] === true)
}

export function scoreOf(name: string, tests: readonly SuiteTest[], verdicts: Verdicts): Score {
  const points = (kind: 'required' | 'optimal'): Points => {
    const own = tests.filter((test) => (test.kind ?? 'required') === kind)
    return { passed: own.filter((test) => passes(test, verdicts)).length, of: own.length }
  }
  return { name, required: points('required'), optimal: points('optimal') }
}

/** Every test that counts and is not passed, and what was found in place of what it wants. */
export function failuresOf(tests: readonly SuiteTest[], verdicts: Verdicts): Failure[] {
  return tests.flatMap((test): Failure[] => {
    const { id, kind = 'required', depends_on: needed = [] } = test
    if (kind === 'check' || passes(test, verdicts)) return []
    const verdict = verdicts[id]
    return [{ id, kind, found: verdict === true ? `depends on ${needed.join(', ')}` : (verdict?.[1] ?? 'did not run') }]
  })
}
