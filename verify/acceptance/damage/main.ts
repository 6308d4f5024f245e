/**
 * `npm run acceptance:damage [-- --rounds 200 --seed N --objects 500 --tree DIR]`: damages everything but the records in
 * the directory of a real node, and holds it to what it has acknowledged.
 */
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { SystemRandom } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { guardRun } from '../../../tools/src/run-guard.ts'
import { Campaign, type CampaignReport } from './campaign.ts'

const SEEDS = 1_000_000

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    objects: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Math.floor(new SystemRandom().next() * SEEDS)) },
    tree: { type: 'string', default: fileURLToPath(new URL('../../../', import.meta.url)) },
    'fail-fast': { type: 'boolean', default: false },
  },
})

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** What must be zero; how many rounds it took is no matter. */
function faultsOf({ lost, wrongAnswers, resurrected, deathsBySignal, notSaid, failures }: CampaignReport): number {
  return lost + wrongAnswers + resurrected + deathsBySignal + notSaid + failures.length
}

const guard = guardRun()
const place = { directory: join(guard.directory, 'node'), tree: resolve(values.tree), env: guard.environment }
const startedAt = performance.now()
say(`seed ${values.seed}, ${values.rounds} rounds, ${values.objects} objects`)
let faults = 0
{
  await using campaign = await Campaign.open(place, new SeededRandom(Number(values.seed)), Number(values.objects), say)
  for (let round = 0; round < Number(values.rounds); round += 1) {
    await campaign.round()
    if (values['fail-fast'] && faultsOf(campaign.report) > 0) break
  }
  const { failures, ...counts } = campaign.report
  faults = faultsOf(campaign.report)
  for (const [name, count] of Object.entries(counts)) say(`${name.padEnd(16)} ${String(count)}`)
  for (const failure of failures.slice(0, 40)) say(failure)
}
await guard.close()
say(`${((performance.now() - startedAt) / 60_000).toFixed(1)} minutes; ${faults === 0 ? 'all held' : 'NOT all held'}`)
process.exitCode = faults === 0 ? 0 : 1
