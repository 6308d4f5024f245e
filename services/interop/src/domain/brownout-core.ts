/**
 * When bridges are shed, decided from three windows. Nothing here waits or reads a clock.
 *
 *     failures of ours   > 1 % of the answers of 5 minutes, if there were 100 ──┐
 *     upstream           slowest twentieth of a minute's calls ≥ 500 ms ────────┼──▶ brown ── all calm for 30 s ─▶ clear
 *     work               more than 80 % full for a minute ──────────────────────┘
 *
 * Each cause ends at a lower bound than the one it begins at, and the brownout only after a while without any: what
 * shedding relieves would otherwise switch it off, and on, and off.
 */

export type Cause = 'error_rate' | 'p95' | 'queue_pressure'

export interface BrownoutLimits {
  readonly errorRate: number
  readonly upstreamP95Ms: number
}

export type BrownoutState =
  | { readonly tag: 'clear' }
  | { readonly tag: 'brown'; readonly since: number; readonly causes: readonly Cause[] }

interface BrownoutSlot {
  readonly from: number
  answers: number
  failures: number
  calls: number
  slow: number
  slowish: number
}

export interface BrownoutCore {
  state: BrownoutState
  readonly slots: BrownoutSlot[]
  /** Since when `work` has been over its bound. */
  crowdedSince: number | undefined
  causes: readonly Cause[]
  /** Since when no cause has held. */
  calmSince: number | undefined
}

const SLOT_MS = 10_000
const ANSWERS_MS = 300_000
const CALLS_MS = 60_000
const CROWDED_MS = 60_000
const CALM_MS = 30_000
const ANSWERS_MIN = 100
const CALLS_MIN = 20
/** The slowest twentieth. */
const TAIL = 0.05
const QUEUE_HIGH = 0.8
const QUEUE_LOW = 0.6
/** Where a cause that has begun ends, as a part of where it began. */
const END_RATIO = { error_rate: 0.5, p95: 0.8 } as const

export function createBrownout(): BrownoutCore {
  return { state: { tag: 'clear' }, slots: [], crowdedSince: undefined, causes: [], calmSince: undefined }
}

/** An answer of ours; what was shed and what the client did wrong is not a failure. */
export function sawAnswer(core: BrownoutCore, now: number, isFailure: boolean): void {
  const slot = slotAt(core, now)
  slot.answers += 1
  if (isFailure) slot.failures += 1
}

/** A call to another service, tries included. */
export function sawCall(core: BrownoutCore, now: number, tookMs: number, limits: BrownoutLimits): void {
  const slot = slotAt(core, now)
  slot.calls += 1
  if (tookMs >= limits.upstreamP95Ms) slot.slow += 1
  if (tookMs >= limits.upstreamP95Ms * END_RATIO.p95) slot.slowish += 1
}

function slotAt(core: BrownoutCore, now: number): BrownoutSlot {
  const last = core.slots.at(-1)
  if (last !== undefined && now < last.from + SLOT_MS) return last
  const slot = { from: now, answers: 0, failures: 0, calls: 0, slow: 0, slowish: 0 }
  core.slots.push(slot)
  return slot
}

/** Judges the windows; returns the state there is now. */
export function judge(core: BrownoutCore, now: number, workRatio: number, limits: BrownoutLimits): BrownoutState {
  while (core.slots[0] !== undefined && core.slots[0].from + SLOT_MS <= now - ANSWERS_MS) core.slots.shift()
  const causes: Cause[] = []
  if (isFailing(core, limits)) causes.push('error_rate')
  if (isSlow(core, now)) causes.push('p95')
  if (isCrowded(core, now, workRatio)) causes.push('queue_pressure')
  core.causes = causes
  core.state = nextState(core, now)
  return core.state
}

function nextState(core: BrownoutCore, now: number): BrownoutState {
  const { state, causes } = core
  if (causes.length > 0) {
    core.calmSince = undefined
    return { tag: 'brown', since: state.tag === 'brown' ? state.since : now, causes }
  }
  if (state.tag === 'clear') return state
  core.calmSince ??= now
  return now - core.calmSince >= CALM_MS ? { tag: 'clear' } : state
}

function isFailing({ slots, causes }: BrownoutCore, { errorRate }: BrownoutLimits): boolean {
  const answers = slots.reduce((sum, slot) => sum + slot.answers, 0)
  const failures = slots.reduce((sum, slot) => sum + slot.failures, 0)
  if (answers < ANSWERS_MIN) return false
  const bound = causes.includes('error_rate') ? errorRate * END_RATIO.error_rate : errorRate
  return failures / answers > bound
}

function isSlow({ slots, causes }: BrownoutCore, now: number): boolean {
  const recent = slots.filter(({ from }) => from + SLOT_MS > now - CALLS_MS)
  const calls = recent.reduce((sum, slot) => sum + slot.calls, 0)
  if (calls < CALLS_MIN) return false
  const slow = recent.reduce((sum, slot) => sum + (causes.includes('p95') ? slot.slowish : slot.slow), 0)
  // The 95th percentile is at the bound once more than a twentieth of the calls is.
  return slow / calls > TAIL
}

function isCrowded(core: BrownoutCore, now: number, workRatio: number): boolean {
  const bound = core.causes.includes('queue_pressure') ? QUEUE_LOW : QUEUE_HIGH
  if (workRatio <= bound) {
    core.crowdedSince = undefined
    return false
  }
  core.crowdedSince ??= now
  return now - core.crowdedSince >= CROWDED_MS
}
