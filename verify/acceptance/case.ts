/** Cases as data: what a file in `cases/` declares, and the runner runs, counts and records. */
import type { World } from './world.ts'

export interface CaseFacts {
  /** Where it was found, as the record names it: `attack S1`. Without one the case says what must stay true. */
  readonly finding?: string
  /** After this the case has failed and everything it started is killed. */
  readonly limitMs?: number
}

export interface AcceptanceCase extends CaseFacts {
  /** `area: behaviour in words`. */
  readonly name: string
  readonly limitMs: number
  readonly play: (world: World) => Promise<void>
}

/** A start on a busy machine takes ten seconds, and a case has a few of them. */
const LIMIT_MS = 60_000

const NAME = /^[a-z][a-z0-9-]*: \S/

const declared: AcceptanceCase[] = []

/** Declares a case: `acceptance('stopping: a put under way is answered', { finding: 'judges 3' }, async (world) => …)`. */
export function acceptance(name: string, facts: CaseFacts, play: (world: World) => Promise<void>): void {
  if (!NAME.test(name)) throw new Error(`A case is named "area: behaviour in words", not "${name}".`)
  if (declared.some((each) => each.name === name)) throw new Error(`There are two cases named "${name}".`)
  declared.push({ limitMs: LIMIT_MS, ...facts, name, play })
}

export function declaredCases(): readonly AcceptanceCase[] {
  return declared
}
