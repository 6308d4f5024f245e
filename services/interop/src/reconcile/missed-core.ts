/**
 * Which deliveries never arrived, by the provider's own list of its attempts.
 *
 *     guid ─┬─ attempt, failed      oldest
 *           ├─ attempt, failed
 *           └─ attempt, succeeded   newest      any success: it is here, durably, since that is what our 2xx says
 *
 * One of which the provider heard no answer may be here all the same; asked for again, it is a duplicate, and harmless.
 */

/** One attempt of a delivery. All attempts of one event share the guid. */
export interface DeliveryAttempt {
  /** A text: these numbers are larger than a number of ours can be. */
  readonly id: string
  readonly guid: string
  /** Unix milliseconds. */
  readonly at: number
  readonly succeeded: boolean
}

export interface MissedDeliveries {
  /** The newest attempt of each delivery that is to be asked for, the oldest delivery first. */
  readonly ask: readonly string[]
  /** From here on the next round must look again; undefined if everything listed has arrived or is past helping. */
  readonly openSince: number | undefined
}

/** An attempt younger than this may still be on its way. */
const SETTLED_MS = 60_000
/** What failed this often needs a person. */
const ATTEMPTS_MAX = 5

/** What to ask for now. `askMax` bounds one round; the rest waits for the next. */
export function judge(attempts: readonly DeliveryAttempt[], nowMs: number, askMax: number): MissedDeliveries {
  const deliveries = Map.groupBy(attempts, ({ guid }) => guid)
  const open: DeliveryAttempt[] = []
  let openSince: number | undefined
  for (const tries of deliveries.values()) {
    if (tries.some(({ succeeded }) => succeeded) || tries.length >= ATTEMPTS_MAX) continue
    const ages = tries.map(({ at }) => at)
    openSince = Math.min(openSince ?? Infinity, ...ages)
    const newest = tries.reduce((a, b) => (b.at > a.at ? b : a))
    if (nowMs - newest.at >= SETTLED_MS) open.push(newest)
  }
  open.sort((a, b) => a.at - b.at)
  return { ask: open.slice(0, askMax).map(({ id }) => id), openSince }
}
