/** What the brownout is judged by: answers, calls to other services, and the state they lead to. */
import type { CallContext } from '@cairn/clients'
import { isKind, type Runtime, toCairnError, Watch, type Watching } from '@cairn/kernel'
import { answeredBy } from '../errors.ts'
import * as core from './brownout-core.ts'

export class Pressure {
  readonly #runtime: Runtime
  readonly #limits: () => core.BrownoutLimits
  readonly #core = core.createBrownout()
  readonly #state = new Watch<core.BrownoutState>({ tag: 'clear' })

  constructor(runtime: Runtime, limits: () => core.BrownoutLimits) {
    this.#runtime = runtime
    this.#limits = limits
  }

  get state(): Watching<core.BrownoutState> {
    return this.#state
  }

  get isBrown(): boolean {
    return this.#state.value.tag === 'brown'
  }

  /** Runs a handler and counts how it ended. */
  async watched<T extends { readonly status: number }>(handler: () => Promise<T>): Promise<T> {
    try {
      const answer = await handler()
      core.sawAnswer(this.#core, this.#runtime.clock.now(), answer.status >= 500)
      return answer
    } catch (error) {
      // What brownout or drain sheds would feed the very rate that it is judged by; what another service sheds does not.
      const { code } = toCairnError(error)
      const isShed = code === 'BACKPRESSURE' || code === 'JOURNAL_LOST' || isKind(error, 'Canceled')
      if (!isShed) core.sawAnswer(this.#core, this.#runtime.clock.now(), toCairnError(error).status >= 500)
      throw error
    }
  }

  /** A call to another service, timed; if it does not take our token, that is not told as a fault of who asked us. */
  async call<T>(
    service: string,
    op: string,
    context: CallContext,
    run: (context: CallContext) => Promise<T>,
  ): Promise<T> {
    const { clock, metrics } = this.#runtime
    const beganAt = clock.now()
    const note = (outcome: 'ok' | 'failed'): void => {
      const tookMs = clock.now() - beganAt
      metrics.observe('upstream_rpc_seconds', tookMs / 1000, { upstream: service, op, outcome })
      core.sawCall(this.#core, clock.now(), tookMs, this.#limits())
    }
    try {
      const value = await run(context)
      note('ok')
      return value
    } catch (error) {
      // A refusal is an answer; that the caller left says nothing about the other side.
      if (context.signal?.aborted !== true) note(toCairnError(error).status >= 500 ? 'failed' : 'ok')
      if (isKind(error, 'Timeout')) metrics.count('io_timeouts_total', { op: 'rpc' })
      throw answeredBy(service, error)
    }
  }

  /** Judges; for the sentinel alone. */
  judge(workRatio: number): core.BrownoutState {
    const state = core.judge(this.#core, this.#runtime.clock.now(), workRatio, this.#limits())
    if (state !== this.#state.value) this.#state.set(state)
    return state
  }
}
