/** Brings this node into the DHT, and says in `/readyz` whether it is there; reads are served without it meanwhile. */
import { type Health, type Runtime, sleep, type TaskBody, throwIfCanceled, toCairnError } from '@cairn/kernel'
import { KadRouting, type ProviderRouting } from '@cairn/routing'

/** Before it is tried again. */
const PAUSE_MS = 5_000

export function dhtJoiner({ clock, log }: Runtime, routings: readonly ProviderRouting[], health: Health): TaskBody {
  return async ({ draining: signal }) => {
    for (const routing of routings) {
      if (!(routing instanceof KadRouting)) continue
      for (let isIn = false; !isIn; ) {
        try {
          log.info({ addresses: await routing.start({ signal }) }, 'in the DHT')
          isIn = true
        } catch (error) {
          throwIfCanceled(signal)
          const { message } = toCairnError(error)
          health.miss('dht_client_ready', message)
          log.warn({ error: message }, 'not in the DHT yet')
          await sleep(clock, PAUSE_MS, { signal })
        }
      }
    }
    health.meet('dht_client_ready')
  }
}
