/**
 * The decisions of a hedged lookup; `hedge.ts` runs the legs.
 *
 *     start ─▶ α legs ─┬─ one satisfies ───────────────▶ won, losers aborted
 *                      ├─ delay over, or all α failed ─▶ β legs ─▶ …
 *                      └─ every leg failed ────────────▶ lost
 *
 * An error never beats a pending leg, and β is never sent once α has won.
 */

export type HedgeState =
  | { readonly tag: 'first'; readonly pending: ReadonlySet<number> }
  | { readonly tag: 'both'; readonly pending: ReadonlySet<number> }
  | { readonly tag: 'won'; readonly winner: number; readonly losers: readonly number[] }
  | { readonly tag: 'lost' }

export interface HedgeCore {
  readonly first: number
  readonly second: number
  state: HedgeState
}

/** What the shell has to do now. */
export type HedgeStep = 'wait' | 'start-second' | 'won' | 'lost' | 'ignore'

export function createHedge(first: number, second: number): HedgeCore {
  if (first < 1) throw new RangeError('A hedge has at least one leg.')
  return { first, second, state: { tag: 'first', pending: new Set(Array.from({ length: first }, (_, leg) => leg)) } }
}

/** The delay is over. Late timers are ignored. */
export function delayOver(hedge: HedgeCore): HedgeStep {
  if (hedge.state.tag !== 'first' || hedge.second === 0) return 'ignore'
  return startSecond(hedge, hedge.state.pending)
}

function startSecond(hedge: HedgeCore, stillPending: ReadonlySet<number>): HedgeStep {
  const pending = new Set(stillPending)
  for (let leg = hedge.first; leg < hedge.first + hedge.second; leg += 1) pending.add(leg)
  hedge.state = { tag: 'both', pending }
  return 'start-second'
}

/** A leg answered with something that satisfies; only the first such answer counts. */
export function legSatisfied(hedge: HedgeCore, leg: number): HedgeStep {
  const { state } = hedge
  if ((state.tag !== 'first' && state.tag !== 'both') || !state.pending.has(leg)) return 'ignore'
  hedge.state = { tag: 'won', winner: leg, losers: [...state.pending].filter((other) => other !== leg) }
  return 'won'
}

/** A leg failed, or answered with something that does not satisfy. */
export function legFailed(hedge: HedgeCore, leg: number): HedgeStep {
  const { state } = hedge
  if ((state.tag !== 'first' && state.tag !== 'both') || !state.pending.has(leg)) return 'ignore'
  const pending = new Set(state.pending)
  pending.delete(leg)
  if (pending.size > 0) {
    hedge.state = { tag: state.tag, pending }
    return 'wait'
  }
  if (state.tag === 'first' && hedge.second > 0) return startSecond(hedge, pending)
  hedge.state = { tag: 'lost' }
  return 'lost'
}
