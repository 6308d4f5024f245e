/** How a client takes an answer. */
import type { Answer } from '../answer.ts'

/** As a tally counts them. */
export type Outcome = 'acknowledged' | 'refused' | 'unsure'

/** What a service may say to anybody at any time: too many, not now, too late, no room, a drive that failed. */
const REFUSALS = /^((408|429|502|503|504|507) \w+|500 (disk_io|short_write))$/

/** Anything that is neither hoped for nor an honest refusal is a violation; `also` are refusals of this very request. */
export function outcomeOf(
  what: string,
  answer: Answer,
  hoped: readonly number[],
  also: readonly string[] = [],
): Outcome {
  const { status, code, isBroken, body } = answer
  if (isBroken) return 'unsure'
  if (hoped.includes(status)) return 'acknowledged'
  const refusal = `${status} ${code ?? ''}`
  if (REFUSALS.test(refusal) || also.includes(refusal)) return 'refused'
  throw new Error(`${what} was answered ${refusal}: ${body.toString().slice(0, 300)}`)
}
