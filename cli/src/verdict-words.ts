/** What a check of a log or a proof came to, line by line: what was checked, and what was not. */
import { CairnError } from '@cairn/kernel'
import type { Check } from '@cairn/names'
import type { Outcome } from './command.ts'
import { rows } from './registry-words.ts'

/** `check` is one word that programs know. */
interface Line {
  readonly check: Check['check'] | 'entries' | 'tiles' | 'root' | 'replay' | 'head' | 'payloads' | 'snapshots'
  readonly detail: string
}

export interface Examined {
  readonly verdict: 'verified' | 'consistent' | 'refused'
  readonly origin: string | undefined
  /** What it says, if it is to be believed. */
  readonly says: string | undefined
  readonly checked: readonly Line[]
  readonly unchecked: readonly Line[]
}

/** Of something that is as it should be, as far as it goes: without trust that is not far enough for success. */
export function examinedOutcome(examined: Examined, result: Readonly<Record<string, unknown>>): Outcome {
  const outcome: Outcome = { result: resultOf(examined, result), data: screenOf(examined) }
  if (examined.verdict === 'verified') return outcome
  const detail =
    'Consistent, NOT verified: everything agrees with itself, but nobody here is known whose word would count. Anybody could have made it.'
  return { ...outcome, error: new CairnError('Integrity', detail, { code: 'not_verified' }) }
}

/** Of something that is not. */
export function refusedOutcome(
  examined: Examined,
  error: CairnError,
  result: Readonly<Record<string, unknown>>,
): Outcome {
  return { result: resultOf(examined, { ...result, code: error.code }), data: screenOf(examined), error }
}

function resultOf({ verdict, origin, checked, unchecked }: Examined, result: Readonly<Record<string, unknown>>) {
  return { verdict, origin: origin ?? null, ...result, checked, not_checked: unchecked }
}

const VERDICTS = { verified: 'verified', consistent: 'consistent, NOT verified', refused: 'refused' } as const

function screenOf({ verdict, origin, says, checked, unchecked }: Examined): string {
  const width = Math.max(0, ...[...checked, ...unchecked].map(({ check }) => check.length))
  const lines = (all: readonly Line[]): string[] => all.map(({ check, detail }) => `${check.padEnd(width)}  ${detail}`)
  return rows([
    ['verdict', VERDICTS[verdict]],
    ...(origin === undefined ? [] : [['log', origin] as const]),
    ...(says === undefined ? [] : [['says', says] as const]),
    ...(checked.length === 0 ? [] : [['checked', lines(checked)] as const]),
    ...(unchecked.length === 0 ? [] : [['not checked', lines(unchecked)] as const]),
  ])
}
