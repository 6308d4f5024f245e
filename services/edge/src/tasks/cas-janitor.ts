import { type Health, isKind, type Runtime, sleep, type TaskBody } from '@cairn/kernel'
import type { Cas } from '../cas/cas.ts'

const INTERVAL_MS = 1_000

/** Keeps the cache in order, and says in `/readyz` whether it takes anything in. */
export function casJanitor({ clock, log }: Runtime, cas: Cas, health: Health): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      try {
        await cas.tidy()
      } catch (error) {
        // A drive that refuses is no reason to end: it is asked again, and until then nothing is kept.
        if (isKind(error, 'Internal')) throw error
        log.warn({ error }, 'the cache could not be tidied')
      }
      if (cas.facts().isWritable) health.meet('cas_reachable')
      else health.miss('cas_reachable', 'The disk of the cache takes no writes; what is there is still served.')
      await sleep(clock, INTERVAL_MS, { signal: draining })
    }
  }
}
