/** Telling a registry that says something wrong from one that says nothing. */
import { CairnError, isKind, toCairnError } from '@cairn/kernel'
import { PROOF_REFUSALS } from '@cairn/names'

/** Why something the registry told was not taken over; a label, so the set is closed. */
export type RefusalReason = keyof typeof PROOF_REFUSALS | keyof typeof VIEW_REFUSALS

/** Beside what a proof can be refused for. */
export const VIEW_REFUSALS = {
  bad_answer: 'it does not speak as agreed',
  forged_event: 'its stream tells of a version that its log does not prove',
  other_meaning: 'its proof of a name says something else than its log',
  pin_damaged: 'what was proved of it before cannot be read any more',
  rule_broken: 'an entry of the log breaks the rules of the registry',
  wrong_entry: 'an entry is not the one its hash was made of',
} as const

export interface Refusal {
  readonly reason: RefusalReason
  readonly detail: string
}

export function refusal(reason: RefusalReason, detail: string): CairnError {
  return new CairnError('Integrity', detail, { code: reason })
}

/** What the registry did wrong; undefined where it could not be asked, which says nothing about its log. */
export function refusalIn(error: unknown): Refusal | undefined {
  const { kind, code, message: detail } = toCairnError(error)
  if (isReason(code)) return { reason: code, detail }
  const isAboutLog = isKind(error, 'Integrity') || kind === 'Malformed' || kind === 'NotFound' || kind === 'TooLarge'
  return isAboutLog ? { reason: 'bad_answer', detail } : undefined
}

function isReason(code: string): code is RefusalReason {
  return Object.hasOwn(PROOF_REFUSALS, code) || Object.hasOwn(VIEW_REFUSALS, code)
}
