/**
 * The decisions of a hedged lookup; `hedged-lookup.ts` runs the legs.
 *
 *     start ─▶ α legs ─┬─ quorum of signed records ──▶ gather a little more ─▶ found, the others are aborted
 *                      ├─ none by the hedge delay, or
 *                      │  all answered, nothing ─────▶ β more legs
 *                      ├─ a leg failed ──────────────▶ the next unused one takes its place, at once
 *                      │                               (none left: the same again after a pause, three times in all)
 *                      ├─ every source answered ─────▶ not found
 *                      ├─ nothing left to ask ───────▶ failed: too few answered to say that there is no provider
 *                      └─ budget over ───────────────▶ out of time, or, a moment before, what was found by then
 *
 * Legs are numbers from 0, the preferred first; those below α are the first wave. A failure never counts as an answer.
 * A source is what legs know from: an index of its own, or the one network that several legs lead into. It has answered
 * when α of its legs have, or all if there are fewer. Not found takes α + β sources, or all if there are fewer.
 */

export interface LookupShape {
  /** The source of each way there is to ask. */
  readonly sources: readonly string[]
  readonly alpha: number
  readonly beta: number
  /** Sources that have to name a provider who signed; all of them where there are fewer. */
  readonly quorum: number
  /** Attempts of one leg in all. */
  readonly tries: number
}

type LegState = 'running' | 'pausing' | 'answered' | 'failed'

export type LookupEnd = 'found' | 'not-found' | 'failed' | 'timeout'

export type LookupPhase =
  | { readonly tag: 'asking' }
  | { readonly tag: 'gathering' }
  | { readonly tag: 'ended'; readonly end: LookupEnd }

export interface LookupCore {
  readonly shape: LookupShape
  phase: LookupPhase
  readonly legs: { state: LegState; tries: number }[]
  /** Sources that named somebody who signed. */
  readonly signed: Set<string>
  hasAny: boolean
  /** More ways were asked because of the delay. */
  isHedged: boolean
  /** The first leg that found somebody who signed. */
  winner: number | undefined
}

/** What the shell has to do now, in this order. */
export type LookupStep =
  | { readonly tag: 'start'; readonly leg: number }
  | { readonly tag: 'retry'; readonly leg: number }
  | { readonly tag: 'gather' }
  | { readonly tag: 'end'; readonly end: LookupEnd }

export function createLookup(shape: LookupShape): LookupCore {
  return {
    shape,
    phase: { tag: 'asking' },
    legs: [],
    signed: new Set(),
    hasAny: false,
    isHedged: false,
    winner: undefined,
  }
}

/** The first wave. Without a way to ask there is no provider. */
export function begin(lookup: LookupCore): LookupStep[] {
  if (lookup.shape.sources.length === 0) return end(lookup, 'not-found')
  return startMore(lookup, lookup.shape.alpha)
}

/** The first wave has had its time. */
export function delayOver(lookup: LookupCore): LookupStep[] {
  if (lookup.phase.tag !== 'asking' || lookup.isHedged) return []
  return secondWave(lookup, lookup.shape.beta)
}

/** A leg named somebody. */
export function providerFound(lookup: LookupCore, leg: number, isSigned: boolean): LookupStep[] {
  if (lookup.phase.tag === 'ended') return []
  lookup.hasAny = true
  if (!isSigned) return []
  const { sources, quorum } = lookup.shape
  lookup.signed.add(sources[leg] ?? '')
  lookup.winner ??= leg
  if (lookup.phase.tag === 'gathering' || lookup.signed.size < Math.min(quorum, new Set(sources).size)) return []
  lookup.phase = { tag: 'gathering' }
  // Nobody is asked again for something that is found.
  for (const row of lookup.legs) if (row.state === 'pausing') row.state = 'failed'
  return [{ tag: 'gather' }]
}

/** A leg knows no more. */
export function legAnswered(lookup: LookupCore, leg: number): LookupStep[] {
  setState(lookup, leg, 'answered')
  return judge(lookup)
}

/** A leg failed; `isRetryable` if asking it again may help. */
export function legFailed(lookup: LookupCore, leg: number, isRetryable: boolean): LookupStep[] {
  const failed = lookup.legs[leg]
  if (lookup.phase.tag === 'ended' || failed === undefined) return []
  failed.state = 'failed'
  if (lookup.phase.tag === 'gathering') return judge(lookup)
  const instead = startMore(lookup, 1)
  if (instead.length > 0) return instead
  if (!isRetryable || failed.tries >= lookup.shape.tries) return judge(lookup)
  failed.state = 'pausing'
  return [{ tag: 'retry', leg }]
}

/** The pause before another try is over. */
export function pauseOver(lookup: LookupCore, leg: number): LookupStep[] {
  const pausing = lookup.legs[leg]
  if (lookup.phase.tag !== 'asking' || pausing?.state !== 'pausing') return []
  pausing.state = 'running'
  pausing.tries += 1
  return [{ tag: 'start', leg }]
}

/** Enough was gathered. */
export function gatherOver(lookup: LookupCore): LookupStep[] {
  return lookup.phase.tag === 'gathering' ? end(lookup, 'found') : []
}

/** The budget is almost gone: what was found, signed or not, is worth more than an answer that comes too late. */
export function budgetNear(lookup: LookupCore): LookupStep[] {
  return lookup.phase.tag !== 'ended' && lookup.hasAny ? end(lookup, 'found') : []
}

/** The budget is gone. */
export function budgetOver(lookup: LookupCore): LookupStep[] {
  return lookup.phase.tag === 'ended' ? [] : end(lookup, 'timeout')
}

function judge(lookup: LookupCore): LookupStep[] {
  if (lookup.phase.tag === 'ended') return []
  const isBusy = lookup.legs.some(({ state }) => state === 'running' || state === 'pausing')
  if (lookup.hasAny) return isBusy ? [] : end(lookup, 'found')
  if (haveAnswered(lookup)) return end(lookup, 'not-found')
  if (isBusy) return []
  // All who were asked have spoken, and others may know more: there is nothing to wait for.
  const more = secondWave(lookup, Math.max(1, lookup.shape.beta))
  return more.length > 0 ? more : end(lookup, 'failed')
}

/** Whether as many sources as there have to be have answered. */
function haveAnswered({ shape, legs }: LookupCore): boolean {
  const { sources, alpha, beta } = shape
  const answers = new Map<string, { legs: number; answered: number }>()
  for (const [at, source] of sources.entries()) {
    const row = answers.get(source) ?? { legs: 0, answered: 0 }
    row.legs += 1
    if (legs[at]?.state === 'answered') row.answered += 1
    answers.set(source, row)
  }
  const done = [...answers.values()].filter((row) => row.answered >= Math.min(alpha, row.legs)).length
  return done >= Math.min(alpha + beta, answers.size)
}

function secondWave(lookup: LookupCore, count: number): LookupStep[] {
  const steps = startMore(lookup, count)
  lookup.isHedged ||= steps.length > 0
  return steps
}

function startMore(lookup: LookupCore, count: number): LookupStep[] {
  const steps: LookupStep[] = []
  while (steps.length < count && lookup.legs.length < lookup.shape.sources.length) {
    steps.push({ tag: 'start', leg: lookup.legs.length })
    lookup.legs.push({ state: 'running', tries: 1 })
  }
  return steps
}

function setState(lookup: LookupCore, leg: number, state: LegState): void {
  const row = lookup.legs[leg]
  if (row !== undefined && lookup.phase.tag !== 'ended') row.state = state
}

function end(lookup: LookupCore, how: LookupEnd): LookupStep[] {
  lookup.phase = { tag: 'ended', end: how }
  return [{ tag: 'end', end: how }]
}
