/**
 * Breakers by target, with the one task that may write them.
 *
 *     callers ── admit ──▶ table (read, take a probe)
 *     callers ── outcome ─▶ queue ──▶ janitor ──▶ table (record, tick)
 */
import { Queue } from '../channel/queue.ts'
import { sleep } from '../clock.ts'
import { CairnError } from '../errors.ts'
import type { Runtime } from '../runtime.ts'
import type { TaskBody } from '../task/supervisor.ts'
import * as core from './breaker-core.ts'

interface Report {
  readonly target: string
  readonly admission: core.BreakerAdmission
  readonly outcome: core.CallOutcome
}

/** The breakers roll their windows and open halfway no later than this after they could. */
const TICK_MS = 100

/** The queue to the janitor, as a topology declares it. The reserve is for probes: on their outcome depends what happens next. */
export const BREAKER_QUEUE = { capacity: 1024, reserved: 64, overflow: 'reject' } as const

/** Breakers kept; beyond it the one unused longest goes, and starts closed if it comes back. */
const TARGETS_MAX = 1024

/** Leave to make one call. Its holder reports once; disposed unreported counts as a failure. */
export class BreakerPermit implements Disposable {
  readonly #report: (outcome: core.CallOutcome) => void
  #open = true

  constructor(report: (outcome: core.CallOutcome) => void) {
    this.#report = report
  }

  report(outcome: core.CallOutcome): void {
    if (!this.#open) return
    this.#open = false
    this.#report(outcome)
  }

  [Symbol.dispose](): void {
    this.report('failed')
  }
}

export interface BreakersOptions {
  /** Shows a target in the metrics: one of few values, where targets are not all configured. */
  readonly labelOf?: (target: string) => string
  /** The name of the queue to the janitor, where a service has several tables. */
  readonly queue?: string
}

/** Outcomes the queue could not hold, of calls of one round. */
interface LostOutcomes {
  readonly round: number
  times: number
}

/** The body of the task that keeps these tables, their one writer. */
export function breakerJanitor({ clock }: Runtime, tables: readonly Breakers[]): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      await sleep(clock, TICK_MS, { signal: draining })
      for (const table of tables) table.sweep()
    }
  }
}

export class Breakers {
  readonly #runtime: Runtime
  readonly #policy: core.BreakerPolicy
  readonly #labelOf: (target: string) => string
  readonly #table = new Map<string, core.BreakerCore>()
  readonly #reports: Queue<Report>
  /** By target: a lost outcome counts as a failure. */
  readonly #lost = new Map<string, LostOutcomes>()

  constructor(
    runtime: Runtime,
    policy: core.BreakerPolicy = core.BREAKER_DEFAULT,
    { labelOf = (target) => target, queue: name = 'breaker-outcomes' }: BreakersOptions = {},
  ) {
    this.#runtime = runtime
    this.#policy = policy
    this.#labelOf = labelOf
    this.#reports = new Queue(runtime, { name, ...BREAKER_QUEUE })
  }

  /** Leave to call the target, or `BreakerOpen` with when to come back. */
  admit(target: string): BreakerPermit {
    const breaker = this.#breaker(target)
    const admission = core.admit(breaker, this.#runtime.clock.now())
    if (admission.tag === 'refused') throw this.#refusal(target, breaker)
    const { tag, round } = admission
    return new BreakerPermit((outcome) => {
      if (tag === 'pass' && outcome === 'abandoned') return
      const sent = this.#reports.trySend({ target, admission, outcome }, tag === 'probe' ? 'urgent' : 'normal')
      if (sent !== 'full') return
      const lost = this.#lost.get(target)
      if (lost === undefined || lost.round < round) this.#lost.set(target, { round, times: 1 })
      else if (lost.round === round) lost.times += 1
    })
  }

  /** Runs `call` if the breaker lets it, and reports how it ended. */
  async run<T>(target: string, call: () => Promise<T>): Promise<T> {
    using passage = this.admit(target)
    const value = await call()
    passage.report('ok')
    return value
  }

  state(target: string): core.BreakerState['tag'] {
    return this.#table.get(target)?.state.tag ?? 'closed'
  }

  /** The only writer. Runs until `signal`; applies reports as they come and lets time pass every tick. */
  async janitor(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#runtime.clock, TICK_MS, { signal })
      this.sweep()
    }
  }

  /** One round of the janitor. */
  sweep(): void {
    const now = this.#runtime.clock.now()
    for (let next = this.#reports.tryReceive(); next?.tag === 'item'; next = this.#reports.tryReceive()) {
      const { target, admission, outcome } = next.item
      this.#write(target, (breaker) => core.record(breaker, admission, outcome, now))
    }
    for (const [target, { round, times }] of this.#lost) {
      for (let time = 0; time < times; time += 1)
        this.#write(target, (breaker) => core.record(breaker, { tag: 'pass', round }, 'failed', now))
    }
    this.#lost.clear()
    for (const target of this.#table.keys()) this.#write(target, (breaker) => core.tick(breaker, now))
  }

  close(): void {
    this.#reports.abort()
  }

  #write(target: string, change: (breaker: core.BreakerCore) => void): void {
    const breaker = this.#table.get(target)
    if (breaker === undefined) return
    const before = breaker.state.tag
    change(breaker)
    const after = breaker.state.tag
    if (before === after) return
    this.#runtime.log.info({ target, before, after }, 'breaker changed state')
    const label = this.#labelOf(target)
    if (after === 'open') this.#runtime.metrics.count('breaker_open_total', { target: label })
    for (const state of ['closed', 'open', 'half-open'])
      this.#runtime.metrics.set('breaker_state', state === after ? 1 : 0, { target: label, state })
  }

  #breaker(target: string): core.BreakerCore {
    const breaker = this.#table.get(target) ?? core.createBreaker(this.#policy)
    this.#table.delete(target)
    this.#table.set(target, breaker)
    const [oldest] = this.#table.keys()
    if (this.#table.size > TARGETS_MAX && oldest !== undefined) this.#table.delete(oldest)
    return breaker
  }

  #refusal(target: string, breaker: core.BreakerCore): CairnError {
    const until = breaker.state.tag === 'open' ? breaker.state.until - this.#runtime.clock.now() : TICK_MS
    return new CairnError('BreakerOpen', `${target} has failed too often; it is tried again after a pause.`, {
      retryAfterMs: Math.max(TICK_MS, until),
    })
  }
}
