/** `hedged-lookup-core.ts` with promises, timers, breakers and one signal per leg. */
import {
  type Breakers,
  Cancel,
  canceled,
  type Deadline,
  ERRORS,
  isKind,
  RETRY,
  type Runtime,
  type Timer,
  toCairnError,
} from '@cairn/kernel'
import type { Provider, RoutingLeg } from '@cairn/routing'
import type { Address } from '@cairn/wire'
import * as core from './hedged-lookup-core.ts'
import { type KnownProviders, mergeProviders } from './known-providers.ts'

// Which targets have answered lately: one that was cut off for being slower than another is then not taken for dead.

const RECENT_MS = 60_000
const TARGETS_MAX = 4096

export class RecentAnswers {
  readonly #at = new Map<string, number>()

  note(target: string, now: number): void {
    this.#at.delete(target)
    this.#at.set(target, now)
    const [oldest] = this.#at.size > TARGETS_MAX ? this.#at.keys() : []
    if (oldest !== undefined) this.#at.delete(oldest)
  }

  has(target: string, now: number): boolean {
    const at = this.#at.get(target)
    return at !== undefined && now - at < RECENT_MS
  }
}

export interface LookupPolicy {
  readonly alpha: number
  readonly beta: number
  readonly hedgeMs: number
  readonly gatherMs: number
  readonly quorum: number
  readonly acceptUnsigned: boolean
}

export interface LookupOptions {
  readonly policy: LookupPolicy
  readonly deadline: Deadline
  readonly signal?: AbortSignal | undefined
  readonly recent: RecentAnswers
}

/** How the two waves did; a wave's time ends with its first signed record, or with the lookup. */
export interface HedgeReport {
  readonly alphaMs: number
  /** Absent where the second wave was never sent. */
  readonly betaMs?: number
  readonly winner: 'alpha' | 'beta' | 'tie'
}

export interface LookupOutcome {
  readonly end: core.LookupEnd
  readonly providers: KnownProviders
  readonly hedge: HedgeReport
}

/** What it takes to bring an answer back to whoever asked, kept from the budget of the lookup. */
const ANSWER_MS = 10

/** How many legs a lookup can use: both waves, and one to take the place of each that fails. */
export function legsWanted({ alpha, beta }: LookupPolicy): number {
  return 2 * (alpha + beta)
}

/**
 * Asks the legs who holds `cid`. When it returns or throws, every leg has ended: losers were aborted. Throws only
 * `Canceled`, when the signal fires.
 */
export async function hedgedLookup(
  runtime: Runtime,
  breakers: Breakers,
  cid: Address,
  legs: readonly RoutingLeg[],
  options: LookupOptions,
): Promise<LookupOutcome> {
  return await new LookupRun(runtime, breakers, cid, legs, options).run()
}

/** A leg that was silent for this many times as long as another took is not merely slower. */
const HUNG_FACTOR = 4

class LookupRun {
  readonly #runtime: Runtime
  readonly #breakers: Breakers
  readonly #cid: Address
  readonly #legs: readonly RoutingLeg[]
  readonly #options: LookupOptions
  readonly #core: core.LookupCore
  readonly #startedAt: number
  /** When the second wave was sent, and when each wave first found somebody who signed. */
  #betaAt: number | undefined
  readonly #foundAt: { alpha?: number; beta?: number } = {}
  #providers: KnownProviders = []
  /** How long the first answer of any leg took. */
  #fastestMs = Number.POSITIVE_INFINITY
  readonly #timers = new Set<Timer>()
  readonly #cancels = new Set<Cancel>()
  readonly #running = new Set<Promise<void>>()
  readonly #ended = Promise.withResolvers<core.LookupEnd>()

  constructor(runtime: Runtime, breakers: Breakers, cid: Address, legs: readonly RoutingLeg[], options: LookupOptions) {
    const { alpha, beta, quorum } = options.policy
    this.#runtime = runtime
    this.#breakers = breakers
    this.#cid = cid
    this.#legs = legs
    this.#options = options
    this.#startedAt = runtime.clock.now()
    const sources = legs.map(({ knowledge }) => knowledge)
    this.#core = core.createLookup({ sources, alpha, beta, quorum, tries: RETRY.lookup.tries })
  }

  async run(): Promise<LookupOutcome> {
    const { policy, deadline, signal } = this.#options
    const onAbort = (): void => {
      if (signal !== undefined) this.#ended.reject(canceled(signal))
    }
    if (signal?.aborted === true) throw canceled(signal)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#after(deadline.remaining() - ANSWER_MS, () => core.budgetNear(this.#core))
    this.#after(deadline.remaining(), () => core.budgetOver(this.#core))
    if (policy.beta > 0) this.#after(policy.hedgeMs, () => core.delayOver(this.#core))
    this.#follow(core.begin(this.#core))
    try {
      const end = await this.#ended.promise
      return { end, providers: this.#providers, hedge: this.#report() }
    } finally {
      signal?.removeEventListener('abort', onAbort)
      for (const timer of this.#timers) timer.cancel()
      for (const cancel of this.#cancels) cancel.abort()
      await Promise.all(this.#running)
      this.#count()
    }
  }

  #count(): void {
    const { metrics, clock } = this.#runtime
    metrics.observe('index_dht_lookup_ms', clock.now() - this.#startedAt)
    if (this.#betaAt === undefined) return
    const { winner } = this.#core
    const result = winner === undefined ? 'tie' : winner >= this.#options.policy.alpha ? 'win' : 'lose'
    metrics.count('dht_hedged_requests_total', { result })
  }

  #follow(steps: readonly core.LookupStep[]): void {
    for (const step of steps) {
      switch (step.tag) {
        case 'start':
          this.#start(step.leg)
          break
        case 'retry':
          this.#after(RETRY.lookup.backoff(1, this.#runtime.random), () => core.pauseOver(this.#core, step.leg))
          break
        case 'gather':
          this.#after(this.#options.policy.gatherMs, () => core.gatherOver(this.#core))
          break
        case 'end':
          this.#ended.resolve(step.end)
          break
      }
    }
  }

  #after(ms: number, decide: () => readonly core.LookupStep[]): void {
    const timer = this.#runtime.clock.timer(ms, () => {
      this.#timers.delete(timer)
      this.#follow(decide())
    })
    this.#timers.add(timer)
  }

  #start(at: number): void {
    const leg = this.#legs[at]
    if (leg === undefined) return
    if (at >= this.#options.policy.alpha) this.#betaAt ??= this.#runtime.clock.now()
    const run = this.#runLeg(at, leg).finally(() => {
      this.#running.delete(run)
    })
    this.#running.add(run)
  }

  async #runLeg(at: number, leg: RoutingLeg): Promise<void> {
    const cancel = new Cancel({})
    this.#cancels.add(cancel)
    const isAgain = (this.#core.legs[at]?.tries ?? 1) > 1
    try {
      await this.#ask(at, leg, cancel.signal)
      if (isAgain) this.#countRetry('ok')
      this.#follow(core.legAnswered(this.#core, at))
    } catch (error) {
      if (isAgain) this.#countRetry('failed')
      // Aborted because another leg was faster: that is no failure of this one.
      if (cancel.signal.aborted) return
      this.#runtime.metrics.count('dht_errors_total', { kind: kindOf(error) })
      this.#follow(core.legFailed(this.#core, at, isRetryable(error)))
    } finally {
      this.#cancels.delete(cancel)
    }
  }

  async #ask(at: number, leg: RoutingLeg, signal: AbortSignal): Promise<void> {
    const { deadline, recent } = this.#options
    const { clock } = this.#runtime
    using passage = this.#breakers.admit(leg.target)
    const askedAt = clock.now()
    const said = { anything: false }
    const note = (): void => {
      said.anything = true
      recent.note(leg.target, clock.now())
      this.#fastestMs = Math.min(this.#fastestMs, clock.now() - askedAt)
    }
    const onProvider = (provider: Provider): void => {
      note()
      this.#found(at, provider)
    }
    try {
      await leg.find(this.#cid, { deadline, signal, onProvider })
      note()
      passage.report('ok')
    } catch (error) {
      if (!signal.aborted || deadline.expired) passage.report('failed')
      else if (said.anything) passage.report('ok')
      else passage.report(this.#isSilent(leg, clock.now() - askedAt) ? 'failed' : 'abandoned')
      throw error
    }
  }

  /**
   * A target that runs out of time has failed; one that is merely slower than another has not. A leg hangs if it was silent
   * for as long as answers are gathered and for several times as long as another took, and its target answered no
   * earlier lookup of the last minute either.
   */
  #isSilent({ target }: RoutingLeg, ranMs: number): boolean {
    const { policy, recent, signal } = this.#options
    if (signal?.aborted === true || ranMs < Math.max(policy.gatherMs, HUNG_FACTOR * this.#fastestMs)) return false
    return !recent.has(target, this.#runtime.clock.now())
  }

  #found(at: number, provider: Provider): void {
    if (this.#core.phase.tag === 'ended') return
    const isSigned = provider.record !== undefined
    if (!isSigned && !this.#options.policy.acceptUnsigned) {
      this.#runtime.metrics.count('dht_records_missing_total')
      return
    }
    const sources = [this.#legs[at]?.target ?? '']
    this.#providers = mergeProviders(this.#providers, [{ ...provider, sources }])
    const wave = at < this.#options.policy.alpha ? 'alpha' : 'beta'
    if (isSigned) this.#foundAt[wave] ??= this.#runtime.clock.now()
    this.#follow(core.providerFound(this.#core, at, isSigned))
  }

  #report(): HedgeReport {
    const now = this.#runtime.clock.now()
    const { winner: leg } = this.#core
    const winner = leg === undefined ? 'tie' : leg < this.#options.policy.alpha ? 'alpha' : 'beta'
    const alphaMs = Math.round((this.#foundAt.alpha ?? now) - this.#startedAt)
    if (this.#betaAt === undefined) return { alphaMs, winner }
    return { alphaMs, betaMs: Math.round((this.#foundAt.beta ?? now) - this.#betaAt), winner }
  }

  #countRetry(result: 'ok' | 'failed'): void {
    this.#runtime.metrics.count('backoff_retries_total', { op: 'dht', result })
  }
}

/** What may pass by itself; an open breaker has decided already that it will not. */
function isRetryable(error: unknown): boolean {
  return !isKind(error, 'BreakerOpen') && ERRORS[toCairnError(error).kind].retry !== 'never'
}

function kindOf(error: unknown): 'timeout' | 'breaker' | 'io' {
  if (isKind(error, 'BreakerOpen')) return 'breaker'
  return isKind(error, 'Timeout') && error.code === 'timeout' ? 'timeout' : 'io'
}
