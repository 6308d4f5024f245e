/** `cairn scrub`: lets the node read everything it stores and prove it. Says what was read; about the rest it says nothing. */
import { CairnError, type Clock, SystemClock, sleep } from '@cairn/kernel'
import type { Cairn, ScrubReport } from '@cairn/sdk'
import { spellCount } from '@cairn/wire'
import type { Outcome, Run } from './command.ts'
import { dataFlag } from './places.ts'
import { withStorage } from './storage.ts'

const POLL_MS = 200

export const scrub: Run = async (context) =>
  await withStorage(context, async (cairn, signal) => {
    const clock = new SystemClock()
    const before = await cairn.scrubReport({ signal })
    const begun = await cairn.scrub({ signal })
    if (!context.given.has('wait')) return outcomeOf(begun, before, dataFlag(context.given))
    return outcomeOf(await whenRead(cairn, before, clock, signal), before, dataFlag(context.given))
  })

/** The report once a round has ended that had not when we asked. */
async function whenRead(cairn: Cairn, before: ScrubReport, clock: Clock, signal: AbortSignal): Promise<ScrubReport> {
  for (;;) {
    const now = await cairn.scrubReport({ signal })
    if (now.completed_at !== before.completed_at && now.state === 'waiting') return now
    await sleep(clock, POLL_MS, { signal })
  }
}

function outcomeOf(report: ScrubReport, before: ScrubReport, flag: string): Outcome {
  const { read, damaged, completed_at } = report
  const isOver = completed_at !== before.completed_at && report.state === 'waiting'
  const data = [
    `round    ${isOver ? 'ended' : 'under way'}`,
    `read     ${spellCount(isOver || report.state === 'reading' ? read : 0, 'chunk')}`,
    `damaged  ${damaged.length === 0 ? 'none of those read' : String(damaged.length)}`,
    `before   ${before.completed_at === null ? 'no round has ended yet' : new Date(before.completed_at).toISOString()}`,
    ...damaged.map((id) => `  ${id}`),
  ]
  const outcome = { result: { ...report, ended: isOver }, data: `${data.join('\n')}\n` }
  if (damaged.length > 0) {
    const detail = `${spellCount(damaged.length, 'chunk')} of those read ${damaged.length === 1 ? 'is' : 'are'} damaged.`
    return { ...outcome, error: new CairnError('Integrity', detail, { code: 'damaged' }) }
  }
  if (isOver) return { ...outcome, message: `${spellCount(read, 'chunk')} read and proved; what came later was not` }
  return {
    ...outcome,
    message: 'reading; nothing is known yet about what it has not read',
    next: [`npx cairn scrub${flag} --wait`],
  }
}
