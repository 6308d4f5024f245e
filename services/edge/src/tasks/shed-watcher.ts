import { type Health, type Runtime, sleep, type TaskBody } from '@cairn/kernel'
import type { Fills } from '../fill/fills.ts'

const LOOK_MS = 100
/** Without a refusal for this long, and with the line half empty, the service has recovered. */
const CALM_MS = 300

/** Says in `/readyz` that requests are refused, so that load goes elsewhere while they are. */
export function shedWatcher({ clock }: Runtime, fills: Fills, health: Health): TaskBody {
  const { sheds, queue } = fills
  return async ({ draining }) => {
    health.meet('shedder_stable')
    for (let seen = sheds.version; ; ) {
      ;({ version: seen } = await sheds.changed(seen, { signal: draining }))
      health.miss(
        'shedder_stable',
        'Requests are refused because too many are under way; what is stored is still served.',
      )
      let calmSince = clock.now()
      while (clock.now() - calmSince < CALM_MS) {
        await sleep(clock, LOOK_MS, { signal: draining })
        const isShedding = sheds.version !== seen
        seen = sheds.version
        if (isShedding || fills.waiting > queue.capacity / 2) calmSince = clock.now()
      }
      health.meet('shedder_stable')
    }
  }
}
