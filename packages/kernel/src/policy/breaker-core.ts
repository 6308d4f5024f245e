/**
 * When to stop asking a target that keeps failing.
 *
 *              a failure: failures / outcomes > threshold, at least `sample` outcomes in the window
 *     Closed ────────────────────────────────────────────────────────────▶ Open
 *        ▲                                                                   │ cooldown over
 *        │ every probe succeeded                                             ▼
 *        └────────────────────────────────────────────────────────────── HalfOpen
 *                                  a probe failed or was never reported ──▶ Open
 *
 * Only the janitor calls `record` and `tick`. Callers only ask `admit`, which takes one of the probes
 * the janitor laid out when it opened halfway. Each change of state begins a new round, and an outcome
 * counts only in the round its call was admitted in: an answer that comes late says nothing about now.
 * A probe must be reported within one cooldown, counted from when it went out: however rare the calls, the
 * breaker of a target that answers its probes closes in the end.
 */

export interface BreakerPolicy {
  readonly windowMs: number
  /** Open above this share of failures. */
  readonly threshold: number
  /** Judge nothing on fewer outcomes than this. */
  readonly sample: number
  readonly cooldownMs: number
  readonly probes: number
}

export const BREAKER_DEFAULT: BreakerPolicy = {
  windowMs: 10_000,
  threshold: 0.5,
  sample: 10,
  cooldownMs: 5_000,
  probes: 2,
}

/** The window is kept as this many slices, so that old outcomes leave without a list of them. */
const SLICES = 10

interface Slice {
  index: number
  ok: number
  failed: number
}

export type BreakerState =
  | { readonly tag: 'closed' }
  | { readonly tag: 'open'; readonly until: number }
  /** `out`: when each probe that is not reported yet went out. */
  | { readonly tag: 'half-open'; probesLeft: number; ok: number; out: number[] }

export interface BreakerCore {
  readonly policy: BreakerPolicy
  state: BreakerState
  round: number
  slices: Slice[]
}

export type BreakerAdmission =
  | { readonly tag: 'refused' }
  | { readonly tag: 'pass'; readonly round: number }
  | { readonly tag: 'probe'; readonly round: number; readonly at: number }

/** `abandoned`: we did not wait for the end, so nothing is known; a probe is given back. */
export type CallOutcome = 'ok' | 'failed' | 'abandoned'

export function createBreaker(policy: BreakerPolicy): BreakerCore {
  return { policy, state: { tag: 'closed' }, round: 0, slices: [] }
}

/** Whether a call may go out now; in HalfOpen this takes one of the probes. */
export function admit(breaker: BreakerCore, now: number): BreakerAdmission {
  const { state, round } = breaker
  switch (state.tag) {
    case 'closed':
      return { tag: 'pass', round }
    case 'open':
      return { tag: 'refused' }
    case 'half-open':
      if (state.probesLeft === 0) return { tag: 'refused' }
      state.probesLeft -= 1
      state.out.push(now)
      return { tag: 'probe', round, at: now }
  }
}

/** Janitor only: one call ended. */
export function record(breaker: BreakerCore, admission: BreakerAdmission, outcome: CallOutcome, now: number): void {
  const { state, policy } = breaker
  if (admission.tag === 'refused' || admission.round !== breaker.round) return
  if (state.tag === 'closed') {
    if (outcome === 'abandoned') return
    count(breaker, outcome, now)
    // An answer may be the one that makes the sample whole: it is no reason to leave alone a target that is back.
    if (outcome === 'failed' && shouldOpen(breaker, now)) open(breaker, now)
  } else if (state.tag === 'half-open' && admission.tag === 'probe') {
    state.out.splice(state.out.indexOf(admission.at), 1)
    if (outcome === 'failed') open(breaker, now)
    else if (outcome === 'abandoned') state.probesLeft += 1
    else state.ok += 1
    if (state.ok >= policy.probes) become(breaker, { tag: 'closed' })
  }
}

/** Janitor only: time passed. Lays out the probes after the cooldown; takes a probe that is never reported for a failure. */
export function tick(breaker: BreakerCore, now: number): void {
  const { state, policy } = breaker
  if (state.tag === 'open' && now >= state.until) {
    become(breaker, { tag: 'half-open', probesLeft: policy.probes, ok: 0, out: [] })
  } else if (state.tag === 'half-open' && state.out.some((at) => now >= at + policy.cooldownMs)) {
    open(breaker, now)
  }
}

function open(breaker: BreakerCore, now: number): void {
  become(breaker, { tag: 'open', until: now + breaker.policy.cooldownMs })
}

function become(breaker: BreakerCore, state: BreakerState): void {
  breaker.state = state
  breaker.round += 1
  breaker.slices = []
}

function count(breaker: BreakerCore, outcome: 'ok' | 'failed', now: number): void {
  const index = Math.floor((now * SLICES) / breaker.policy.windowMs)
  let slice = breaker.slices.at(-1)
  if (slice === undefined || slice.index < index) {
    slice = { index, ok: 0, failed: 0 }
    breaker.slices = [...breaker.slices.filter((old) => old.index > index - SLICES), slice]
  }
  slice[outcome] += 1
}

function shouldOpen(breaker: BreakerCore, now: number): boolean {
  const oldest = Math.floor((now * SLICES) / breaker.policy.windowMs) - SLICES
  let ok = 0
  let failed = 0
  for (const slice of breaker.slices) {
    if (slice.index <= oldest) continue
    ok += slice.ok
    failed += slice.failed
  }
  return ok + failed >= breaker.policy.sample && failed / (ok + failed) > breaker.policy.threshold
}
