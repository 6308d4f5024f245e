/**
 * `cairn scrub`: lets the node read everything it stores and prove it. Says what was read; about the rest it says nothing.
 * With `--give-up` it takes a segment that cannot be read out of the way of garbage collection.
 */
import { CairnError, type Clock, SystemClock, sleep } from '@cairn/kernel'
import type { Cairn, DurabilityReport, GiveUpReport, ScrubReport } from '@cairn/sdk'
import { spellBytes, spellCount } from '@cairn/wire'
import { type CommandContext, type CommandHandler, type CommandOutcome, dataFlag } from './command.ts'
import { withStorage } from './storage.ts'

// `cairn repair`: has the node look for copies that are missing, and says how many there are of everything.

const REPAIR_POLL_MS = 200

export const repair: CommandHandler = async (context) =>
  await withStorage(context, async (cairn, signal) => {
    await cairn.repair(context.given.operands[0], { signal })
    const report = context.given.has('wait') ? await whenStill(cairn, signal) : await cairn.durability({ signal })
    return repairOutcome(report, dataFlag(context.given))
  })

/** The report once nothing waits to be repaired that can be. */
async function whenStill(cairn: Cairn, signal: AbortSignal): Promise<DurabilityReport> {
  const clock = new SystemClock()
  for (;;) {
    // The planner looks first: what it finds is pending a moment later.
    await sleep(clock, REPAIR_POLL_MS, { signal })
    const report = await cairn.durability({ signal })
    if (report.repairs.pending === 0) return report
  }
}

function repairOutcome(report: DurabilityReport, flag: string): CommandOutcome {
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

const SCRUB_POLL_MS = 200

export const scrub: CommandHandler = async (context) =>
  await withStorage(context, async (cairn, signal) => {
    const segment = context.given.text('give-up')
    if (segment !== undefined) return await giveUp(context, cairn, segmentOf(segment), signal)
    const clock = new SystemClock()
    const before = await cairn.scrubReport({ signal })
    const begun = await cairn.scrub({ signal })
    if (!context.given.has('wait')) return scrubOutcome(begun, before, dataFlag(context.given))
    return scrubOutcome(await whenRead(cairn, before, clock, signal), before, dataFlag(context.given))
  })

/** The report once a round has ended that had not when we asked. */
async function whenRead(cairn: Cairn, before: ScrubReport, clock: Clock, signal: AbortSignal): Promise<ScrubReport> {
  for (;;) {
    const now = await cairn.scrubReport({ signal })
    if (now.completed_at !== before.completed_at && now.state === 'waiting') return now
    await sleep(clock, SCRUB_POLL_MS, { signal })
  }
}

function scrubOutcome(report: ScrubReport, before: ScrubReport, flag: string): CommandOutcome {
  const { read, records, bytes, damaged, damaged_count: damagedChunks, objects, completed_at } = report
  const isOver = completed_at !== before.completed_at && report.state === 'waiting'
  const isKnown = isOver || report.state === 'reading'
  const known = (count: number): number => (isKnown ? count : 0)
  const data = [
    `round    ${isOver ? 'ended' : 'under way'}`,
    `read     ${spellCount(known(read), 'chunk')}, ${spellCount(known(records), 'record')}, ${spellBytes(known(bytes))}`,
    `objects  ${isOver && objects !== null ? `${objects.sound} whole, ${objects.damaged} damaged` : 'counted at the end'}`,
    `damaged  ${damagedChunks === 0 ? 'none of those read' : String(damagedChunks)}`,
    ...otherDamage(report),
    ...(report.mended === 0 ? [] : [`mended   ${spellCount(report.mended, 'index record')}`]),
    ...report.not_read.map((segment) => `not read segment ${segment}: its header is damaged`),
    `before   ${before.completed_at === null ? 'no round has ended yet' : new Date(before.completed_at).toISOString()}`,
    ...damaged.map((id) => `  ${id}`),
  ]
  const outcome = { result: { ...report, ended: isOver }, data: `${data.join('\n')}\n` }
  const error = errorOf(report)
  if (error !== undefined) return { ...outcome, error }
  if (isOver) return { ...outcome, message: `${spellCount(read, 'chunk')} read and proved; what came later was not` }
  return {
    ...outcome,
    message: 'reading; nothing is known yet about what it has not read',
    next: [`npx cairn scrub${flag} --wait`],
  }
}

function otherDamage({ damaged_records: records, damaged_bytes: bytes, missing }: ScrubReport): string[] {
  return [
    ...(records === 0 ? [] : [`         ${spellCount(records, 'record')} of objects, holds or deletes`]),
    ...(bytes === 0 ? [] : [`         ${spellBytes(bytes)} in which no record can be made out`]),
    ...(missing === 0 ? [] : [`         ${spellCount(missing, 'index record')} that the journal has not`]),
  ]
}

/** Damage is exit code 4; what could not be read is 9: nothing is known about it. */
function errorOf(report: ScrubReport): CairnError | undefined {
  const { damaged_count: chunks, damaged_records: records, damaged_bytes: bytes, missing, objects, not_read } = report
  if (chunks + records + bytes + missing + (objects?.damaged ?? 0) > 0) {
    const detail =
      chunks > 0
        ? `${spellCount(chunks, 'chunk')} of those read ${chunks === 1 ? 'is' : 'are'} damaged.`
        : 'Not everything that was read is right.'
    return new CairnError('Integrity', detail, { code: 'damaged' })
  }
  if (not_read.length === 0) return undefined
  const detail = `${spellCount(not_read.length, 'segment')} could not be read; nothing is known about what ${not_read.length === 1 ? 'it holds' : 'they hold'}.`
  return new CairnError('Integrity', detail, { code: 'partial' })
}

function segmentOf(text: string): number {
  const segment = Number(text)
  if (Number.isSafeInteger(segment) && segment > 0) return segment
  throw new CairnError('Malformed', `--give-up takes the number of a segment; "${text}" is none.`)
}

/** Says what is lost first; only with `--yes` is it. */
async function giveUp(
  { given }: CommandContext,
  cairn: Cairn,
  segment: number,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const isAgreed = given.has('yes')
  const report = await cairn.giveUpSegment({ segment, drive: given.text('drive'), dryRun: !isAgreed, signal })
  const outcome = { result: { ...report }, data: `${lossIn(report).join('\n')}\n` }
  if (isAgreed) return { ...outcome, message: `segment ${segment} was given up; garbage can be collected again` }
  const detail = `Nothing was done. What is lost with segment ${segment} is lost for good; repair from other copies first.`
  const next = [`npx cairn scrub${dataFlag(given)} --give-up ${segment} --yes`]
  return { ...outcome, next, error: new CairnError('Conflict', detail, { code: 'not_agreed' }) }
}

function lossIn({ segment, unreadable, damaged_bytes, salvaged, lost, kept_as }: GiveUpReport): string[] {
  const { chunks, objects, holds, deletes } = lost
  const counts = [spellCount(chunks, 'chunk'), spellCount(objects, 'object'), spellCount(holds, 'hold')].join(', ')
  return [
    `segment  ${segment}${unreadable ? ', of which nothing can be read' : `, ${spellBytes(damaged_bytes)} damaged`}`,
    `lost     ${unreadable ? 'whatever it held; what that was is not known' : counts}`,
    `deletes  ${deletes === 0 ? 'those that only it recorded' : String(deletes)} may come undone`,
    ...(kept_as === null ? [] : [`saved    ${spellCount(salvaged, 'record')}`, `kept as  ${kept_as}`]),
  ]
}
