/**
 * GitHub sends each delivery once, whatever becomes of it. So we look at its list now and then, and ask for what failed.
 *
 *     wait ─▶ list, newest first, back to where all has arrived ─▶ ask again for what has not ─▶ wait
 */
import { Deadline, isKind, type Runtime, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { ProvidersConfig } from '../providers/config.ts'
import { readSecretAt } from '../providers/secret.ts'
import { GithubDeliveries } from './github-deliveries.ts'
import { type DeliveryAttempt, judge } from './missed-core.ts'

/** GitHub redelivers nothing older. */
const LOOKBACK_MS = 3 * 24 * 3_600_000
/** Attempts are listed a little out of order. */
const OVERLAP_MS = 15 * 60_000
const PAGES_MAX = 50
const REDELIVERIES_MAX = 20
const ROUND_MS = 60_000

export interface Round {
  readonly listed: number
  readonly asked: number
}

export class Reconciler {
  readonly #runtime: Runtime
  readonly #deliveries: GithubDeliveries
  /** Everything before this has arrived, or cannot be helped. Unix milliseconds. */
  #settledUntil = 0

  constructor(runtime: Runtime, deliveries: GithubDeliveries) {
    this.#runtime = runtime
    this.#deliveries = deliveries
  }

  /** Lists and asks once. Throws `Paced` where GitHub wants to be left alone for a while. */
  async round(signal?: AbortSignal): Promise<Round> {
    const { clock, log, metrics } = this.#runtime
    const startedAt = clock.wall()
    const options = { deadline: Deadline.after(clock, ROUND_MS), signal }
    const { attempts, isWhole } = await this.#list(Math.max(this.#settledUntil, startedAt - LOOKBACK_MS), options)
    const { ask, openSince } = judge(attempts, startedAt, REDELIVERIES_MAX)
    let asked = 0
    try {
      for (const id of ask) {
        await this.#deliveries.redeliver(id, options)
        asked += 1
      }
    } finally {
      if (asked > 0) log.info({ asked, missed: ask.length }, 'asked GitHub to deliver again')
      metrics.count('redeliveries_asked_total', {}, asked)
    }
    if (isWhole) this.#settledUntil = Math.min(openSince ?? Infinity, startedAt - OVERLAP_MS)
    else
      log.warn(
        { listed: attempts.length },
        'there are more deliveries than one round lists; the oldest were not looked at',
      )
    return { listed: attempts.length, asked }
  }

  async #list(since: number, options: Parameters<GithubDeliveries['list']>[1]) {
    const attempts: DeliveryAttempt[] = []
    let cursor: string | undefined
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const found = await this.#deliveries.list(cursor, options)
      attempts.push(...found.attempts.filter(({ at }) => at >= since))
      const oldest = found.attempts.at(-1)
      if (found.next === undefined || oldest === undefined || oldest.at < since) return { attempts, isWhole: true }
      cursor = found.next
    }
    return { attempts, isWhole: false }
  }
}

type ReconcilerPlatform = Pick<Platform, 'disk' | 'process' | 'transport'> & Runtime
type GithubConfig = Pick<ProvidersConfig['github'], 'enabled' | 'reconcile'>

/** The task for the hook that is configured; undefined where there is none, or nothing may ask about it. */
export async function openReconciler(
  machine: ReconcilerPlatform,
  { enabled, reconcile }: GithubConfig,
): Promise<TaskBody | undefined> {
  const { hook, token: reference, api, interval } = reconcile
  if (!enabled || hook === undefined || reference === undefined) return undefined
  const { text: token } = await readSecretAt(machine, reference)
  const { transport } = machine
  const deliveries = new GithubDeliveries({ runtime: machine, transport, api: new URL(api), hook, token })
  return rounds(machine, new Reconciler(machine, deliveries), interval)
}

/** Round after round, later where GitHub asked to wait. */
function rounds(runtime: Runtime, reconciler: Reconciler, intervalMs: number): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      let waitMs = intervalMs
      try {
        await reconciler.round(draining)
      } catch (error) {
        if (draining.aborted) throw error
        const { message, retryAfterMs } = toCairnError(error)
        if (isKind(error, 'Paced')) waitMs = Math.max(intervalMs, retryAfterMs ?? 0)
        runtime.log.warn({ error: message, waitMs }, 'missed deliveries were not looked at')
      }
      await sleep(runtime.clock, waitMs, { signal: draining })
    }
  }
}
