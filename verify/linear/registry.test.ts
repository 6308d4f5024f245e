import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadRegistry, withRegistryMutant } from '../chaos/registry/registry-module.ts'
import type { SourceMutant } from '../chaos/service-module.ts'
import { checkLinearizable } from './checker.ts'
import { type History, recordHistory } from './registry-history.ts'
import { registrySpec } from './registry-spec.ts'

const CLIENTS = 8
const STEPS_EACH = process.env['CAIRN_LONG'] === '1' ? 60 : 20
/** To show that no order explains a history takes trying them all. */
const FEW_STEPS = 8
const SEEDS = process.env['CAIRN_LONG'] === '1' ? 10 : 2

const STALE: SourceMutant = {
  name: 'readers see a version some time after its commit was acknowledged',
  file: 'services/registry/src/tasks/committer.ts',
  find: 'published.set(publish(signer.identity.origin, { ...checkpoint, head, state: ledger.state, minimumIndex }))',
  replace:
    'const next = publish(signer.identity.origin, { ...checkpoint, head, state: ledger.state, minimumIndex }); void sleep(this.#platform.clock, 20).then(() => published.set(next))',
}

function verdictOf({ genesis, operations }: History) {
  return checkLinearizable(operations, registrySpec(genesis))
}

/** How many operations others were under way with. */
function overlaps({ operations }: History): number {
  return operations.filter((a) => operations.some((b) => a !== b && a.invoked < b.responded && b.invoked < a.responded))
    .length
}

test(`${CLIENTS} clients that propose, approve, commit and read at once: some order explains it all`, async (t) => {
  const registry = await loadRegistry()
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const history = await recordHistory({ registry, seed, clients: CLIENTS, stepsEach: STEPS_EACH })
    const { isLinearizable, longest, states } = verdictOf(history)
    const { length } = history.operations
    assert.ok(isLinearizable, `seed ${seed}: only ${longest} of ${length} operations can be put in order`)
    t.diagnostic(`seed ${seed}: ${length} operations, ${overlaps(history)} overlapped others, ${states} states`)
    assert.ok(overlaps(history) > length / 2)
  }
})

test('a planted stale read is rejected', async () => {
  const history = await recordHistory({
    registry: await loadRegistry(),
    seed: 3,
    clients: CLIENTS,
    stepsEach: FEW_STEPS,
  })
  const { genesis, operations } = history
  const committed = operations.filter(({ call, result }) => call.tag === 'commit' && /^\d/.test(result))
  const stale = operations.find((read) => {
    return read.call.tag === 'head' && committed.some(({ responded }) => responded < read.invoked)
  })
  assert.ok(stale !== undefined)
  // What came later cannot openFaultWindow it, and would only have to be tried in every order.
  const until = operations.filter(({ invoked }) => invoked <= stale.responded)
  assert.equal(verdictOf({ genesis, operations: until }).isLinearizable, true, 'as it was, it holds')
  const broken = until.map((each) => (each === stale ? { ...each, result: genesis } : each))
  assert.equal(verdictOf({ genesis, operations: broken }).isLinearizable, false)
})

test('a registry that lets reads lag behind its acknowledgements is rejected', async (t) => {
  const history = await withRegistryMutant(STALE, async (registry) => {
    return await recordHistory({ registry, seed: 1, clients: CLIENTS, stepsEach: FEW_STEPS })
  })
  const { isLinearizable, longest } = verdictOf(history)
  t.diagnostic(`${longest} of ${history.operations.length} operations can be put in order`)
  assert.equal(isLinearizable, false)
})
