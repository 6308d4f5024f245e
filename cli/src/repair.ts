/** `cairn repair`: has the node look for copies that are missing, and says how many there are of everything. */
import { CairnError, SystemClock, sleep } from '@cairn/kernel'
import type { Cairn, DurabilityReport } from '@cairn/sdk'
import { spellCount } from '@cairn/wire'
import type { Outcome, Run } from './command.ts'
import { dataFlag } from './places.ts'
import { withStorage } from './storage.ts'

const POLL_MS = 200

export const repair: Run = async (context) =>
  await withStorage(context, async (cairn, signal) => {
    await cairn.repair(context.given.operands[0], { signal })
    const report = context.given.has('wait') ? await whenStill(cairn, signal) : await cairn.durability({ signal })
    return outcomeOf(report, dataFlag(context.given))
  })

/** The report once nothing waits to be repaired that can be. */
async function whenStill(cairn: Cairn, signal: AbortSignal): Promise<DurabilityReport> {
  const clock = new SystemClock()
  for (;;) {
    // The planner looks first: what it finds is pending a moment later.
    await sleep(clock, POLL_MS, { signal })
    const report = await cairn.durability({ signal })
    if (report.repairs.pending === 0) return report
  }
}

function outcomeOf(report: DurabilityReport, flag: string): Outcome {
  const { target_copies: wanted, observed_copies: proved, copies, places, repairs } = report
  const lost = copies?.lost ?? 0
  const lacking = (copies?.under ?? 0) + (copies?.single ?? 0) + lost
  const data = [
    `copies   ${wanted} wanted, ${proved === null ? 'none proved yet' : `${proved} of everything proved`}`,
    `objects  ${copies === null ? 'with one target there is nothing to compare' : spellObjects(copies)}`,
    `repairs  ${repairs.pending === 0 ? 'none waiting' : `${repairs.pending} waiting`}`,
    ...places.map(
      ({ id, kind, state, why }) => `  ${state.padEnd(10)}  ${kind.padEnd(5)}  ${id}${why === '' ? '' : `  ${why}`}`,
    ),
  ]
  const outcome = { result: report, data: `${data.join('\n')}\n` }
  if (lacking === 0) return { ...outcome, message: 'looked; whatever is missing is being made' }
  const few = `${spellCount(lacking, 'object')} ${lacking === 1 ? 'has' : 'have'} fewer copies than wanted.`
  const detail = lost === 0 ? few : `${few} ${lost} of them cannot be read: bring a drive back, or put them again.`
  const error = new CairnError('StorageBusy', detail, { code: 'under_replicated' })
  return { ...outcome, error, next: [`npx cairn repair${flag} --wait`] }
}

function spellObjects({ full, under, single, lost }: NonNullable<DurabilityReport['copies']>): string {
  const spelled = `${full} with all copies, ${under} with fewer, ${single} with one left`
  return lost > 0 ? `${spelled}, ${lost} lost` : spelled
}
