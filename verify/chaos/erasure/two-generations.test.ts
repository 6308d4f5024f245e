import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { erasureModules, SOURCE } from '../../../services/storage/test/shard-drives.ts'
import { diffOf, type Mutant, withMutant } from '../../model/mutant.ts'
import { twoGenerations } from './two-generations.ts'

/** One line of the source each, and what follows. What the plaintext check sees is never handed out. */
const MUTANTS: readonly Mutant[] = [
  {
    name: 'the parity of one generation with the data of another',
    file: 'erasure/shard-drives.ts',
    find: 'new StripeMap(object, newest, newest.stripes,',
    replace:
      'new StripeMap(object, newest, found.flatMap((each) => each?.stripes ?? []).sort((a, b) => a.generation - b.generation)[0] ?? newest.stripes,',
    expect: 'unreadable',
  },
  {
    name: 'the oldest record counts',
    file: 'erasure/shard-drives.ts',
    find: 'b.version - a.version',
    replace: 'a.version - b.version',
    expect: 'unreadable',
  },
  {
    name: 'a rebuilt shard begins a generation of its own',
    file: 'erasure/stripe-repair.ts',
    find: 'const stripes = { k, m, generation, parityIds: await map.parityIds()',
    replace: 'const stripes = { k, m, generation: generation + 1, parityIds: await map.parityIds()',
    expect: 'another generation',
  },
]

describe('two generations of one object', () => {
  test('never combine, whoever was away', async () => {
    assert.equal(await twoGenerations(), undefined)
  })

  for (const mutant of MUTANTS) {
    test(`the planted error is caught: ${mutant.name}`, async (t) => {
      const fault = await withMutant(
        SOURCE,
        mutant,
        async (source) => await twoGenerations(await erasureModules(source)),
      )
      assert.equal(fault, mutant.expect)
      t.diagnostic(`${await diffOf(SOURCE, mutant)}\n  ${fault}`)
    })
  }
})
