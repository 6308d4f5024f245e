import { sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import type { Platform, Upkeep } from '@cairn/platform'
import type { InteropParts } from '../parts.ts'

const ROUND_MS = 10_000
/** Keys looked at before others get their turn. */
const SLICE = 2000

/** Forgets what may be forgotten: replay keys whose time is over, and segments nothing living is in. */
export function journalKeeper({ clock, log }: Platform, { ledger, config }: InteropParts, upkeep: Upkeep): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      await sleep(clock, ROUND_MS, { signal: draining })
      if (ledger.lost.value !== undefined) continue
      for (const _slice of ledger.keys.expire(clock.wall(), SLICE)) await sleep(clock, 0, { signal: draining })
      try {
        const trim = async () => await ledger.trim(config().journal.keep_bytes)
        await upkeep.work(trim, { signal: draining })
      } catch (error) {
        if (draining.aborted) throw error
        log.warn({ error: toCairnError(error).message }, 'the journal was not trimmed; the next round tries again')
      }
    }
  }
}
