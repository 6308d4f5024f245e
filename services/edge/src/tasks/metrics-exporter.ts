import { type Runtime, sleep, type TaskBody } from '@cairn/kernel'
import type { Cas } from '../cas/cas.ts'

const INTERVAL_MS = 1_000

/** Gauges that nobody else brings up to date. */
export function metricsExporter({ clock, metrics }: Runtime, cas: Cas): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      const { bytes, entries } = cas.facts()
      metrics.set('edge_cas_bytes', bytes)
      metrics.set('edge_cas_entries', entries)
      await sleep(clock, INTERVAL_MS, { signal: draining })
    }
  }
}
