import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exploreDepthFirst } from './depth-first.ts'
import { exploreHashed } from './hashed.ts'
import type { Model } from './model.ts'
import { diffOf, type Mutant, withMutant } from './mutant.ts'
import { type Failure, faultNames, type Outcome } from './outcome.ts'
import { diagram, report, summarize } from './report.ts'

/** Models of one subject over the cores of a package, and the edits of those cores they must find. */
export interface Suite<Cores> {
  readonly name: string
  /** Small enough to run every schedule: explored both hashed and depth-first, which must agree. */
  smallest(cores: Cores): readonly Model[]
  /** Explored hashed. */
  larger(cores: Cores): readonly Model[]
  readonly mutants: readonly Mutant[]
}

/** A package's sources, and how to import from a directory that holds them or an edited copy. */
export interface Source<Cores> {
  readonly directory: URL
  load(directory: URL): Promise<Cores>
}

/** Every mutant is a search of its own: only every other of them, unless there is time. */
const MUTANT_STEP = process.env['CAIRN_LONG'] === '1' ? 1 : 4

/** Every model passes in every state, both exhaustive strategies agree, and every mutant is found. */
export function testSuite<Cores>(source: Source<Cores>, suite: Suite<Cores>): void {
  describe(suite.name, async () => {
    const cores = await source.load(source.directory)
    for (const model of modelsOf(suite, cores)) {
      test(`${model.name}: every state is right`, (t) => {
        const outcome = exploreHashed(model)
        t.diagnostic(summarize(outcome))
        assert.equal(outcome.failures.size, 0, explain(outcome))
      })
    }
    for (const model of suite.smallest(cores)) {
      test(`${model.name}: hashed and depth-first agree`, (t) => t.diagnostic(summarize(assertAgreement(model))))
    }
    for (const mutant of suite.mutants.filter((_, at) => at % MUTANT_STEP === 0)) {
      test(`finds the mutant: ${mutant.name}`, async (t) => {
        const { outcome, failure } = await findMutant(source, suite, mutant)
        t.diagnostic(`${await diffOf(source.directory, mutant)}\n${report(outcome, failure)}`)
      })
    }
  })
}

export function modelsOf<Cores>(suite: Suite<Cores>, cores: Cores): readonly Model[] {
  return [...suite.smallest(cores), ...suite.larger(cores)]
}

/** Explores the model both ways and demands the same faults and the same terminal states; returns the depth-first outcome. */
export function assertAgreement(model: Model): Outcome {
  const hashed = exploreHashed(model)
  const depthFirst = exploreDepthFirst(model)
  assert.deepEqual(faultNames(depthFirst), faultNames(hashed), 'The strategies differ on the faults.')
  assert.deepEqual(
    [...depthFirst.terminals].sort(),
    [...hashed.terminals].sort(),
    'They differ on the terminal states.',
  )
  return depthFirst
}

/** Runs the suite's models on the edited source until one shows the expected fault. */
async function findMutant<Cores>(
  source: Source<Cores>,
  suite: Suite<Cores>,
  mutant: Mutant,
): Promise<{ outcome: Outcome; failure: Failure }> {
  return await withMutant(source.directory, mutant, async (directory) => {
    const found: string[] = []
    const isKnown = ({ name }: Model): number => (name === mutant.model ? 1 : 0)
    const models = modelsOf(suite, await source.load(directory)).toSorted((a, b) => isKnown(b) - isKnown(a))
    for (const model of models) {
      const outcome = exploreHashed(model, { until: mutant.expect })
      const failure = outcome.failures.get(mutant.expect)
      if (failure !== undefined) return { outcome, failure }
      found.push(`${model.name}: ${faultNames(outcome).join(', ') || 'passes'}`)
    }
    assert.fail(`No model shows ${mutant.expect}.\n${await diffOf(source.directory, mutant)}\n${found.join('\n')}`)
  })
}

function explain(outcome: Outcome): string {
  return [...outcome.failures.values()]
    .map((failure) => `${report(outcome, failure)}\n${diagram(outcome, failure)}`)
    .join('\n\n')
}
