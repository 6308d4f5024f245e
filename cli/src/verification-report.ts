/** What a check of a log or a proof came to, line by line: what was checked, and what was not. */
import { CairnError } from '@cairn/kernel'
import type { Check } from '@cairn/names'
import type { CommandOutcome } from './command.ts'
import { formatRows } from './registry-format.ts'

/** `check` is one word that programs know. */
interface ReportLine {
  readonly check: Check['check'] | 'entries' | 'tiles' | 'root' | 'replay' | 'head' | 'payloads' | 'snapshots'
  readonly detail: string
}

export interface VerificationReport {
  readonly verdict: 'verified' | 'consistent' | 'refused'
  readonly origin: string | undefined
  /** What it says, if it is to be believed. */
  readonly says: string | undefined
  readonly checked: readonly ReportLine[]
  readonly unchecked: readonly ReportLine[]
}

/** Of something that is as it should be, as far as it goes: without trust that is not far enough for success. */
export function reportOutcome(examined: VerificationReport, result: Readonly<Record<string, unknown>>): CommandOutcome {
  const outcome: CommandOutcome = { result: resultOf(examined, result), data: screenOf(examined) }
  if (examined.verdict === 'verified') return outcome
  const detail =
    'Consistent, NOT verified: everything agrees with itself, but no trusted key vouches for it. Anyone could have made it.'
  return { ...outcome, error: new CairnError('Integrity', detail, { code: 'not_verified' }) }
}

/** Of something that is not. */
export function refusedOutcome(
  examined: VerificationReport,
  error: CairnError,
  result: Readonly<Record<string, unknown>>,
): CommandOutcome {
  return { result: resultOf(examined, { ...result, code: error.code }), data: screenOf(examined), error }
}

function resultOf(
  { verdict, origin, checked, unchecked }: VerificationReport,
  result: Readonly<Record<string, unknown>>,
) {
  return { verdict, origin: origin ?? null, ...result, checked, not_checked: unchecked }
}

const VERDICTS = { verified: 'verified', consistent: 'consistent, NOT verified', refused: 'refused' } as const

function screenOf({ verdict, origin, says, checked, unchecked }: VerificationReport): string {
  const width = Math.max(0, ...[...checked, ...unchecked].map(({ check }) => check.length))
  const lines = (all: readonly ReportLine[]): string[] =>
    all.map(({ check, detail }) => `${check.padEnd(width)}  ${detail}`)
  return formatRows([
    ['verdict', VERDICTS[verdict]],
    ...(origin === undefined ? [] : [['log', origin] as const]),
    ...(says === undefined ? [] : [['says', says] as const]),
    ...(checked.length === 0 ? [] : [['checked', lines(checked)] as const]),
    ...(unchecked.length === 0 ? [] : [['not checked', lines(unchecked)] as const]),
  ])
}
