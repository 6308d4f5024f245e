/**
 * Stands in for `fast-check` under faults: the same cases in every run, the first that fails is enough since nobody
 * reads the smallest, and at most so many runs of a property, since each is run for hundreds of faults.
 */
import fc, { type IRawProperty, type Parameters } from 'fast-check'

export * from 'fast-check'

const MAX_RUNS = 300

function assertProperty<Values>(property: IRawProperty<Values>, parameters: Parameters<Values> = {}): unknown {
  const numRuns = Math.min(parameters.numRuns ?? MAX_RUNS, MAX_RUNS)
  return fc.assert(property, { seed: 1, ...parameters, numRuns, endOnFailure: true })
}

export default { ...fc, assert: assertProperty }
