import { type Health, sleep, type TaskBody } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Storage } from '@cairn/store'

/** How soon a drive that fails, fills up or works again shows in `/readyz`. */
const WATCH_MS = 500

export interface Watched {
  readonly directory: string
  readonly reserveBytes: number
  readonly health: Health
}

/** Says whether the drive takes writes. Reads go on whatever it says. */
export function driveWatcher(
  platform: Platform,
  storage: Storage,
  { directory, reserveBytes, health }: Watched,
): TaskBody {
  let freeBytes = Number.POSITIVE_INFINITY
  let isAsking = false
  // Never waited for: a drive that hangs would hang the one who has to say so.
  const ask = (): void => {
    if (isAsking) return
    isAsking = true
    const answered = (bytes: number): void => {
      freeBytes = bytes
      isAsking = false
    }
    platform.disk.space(directory).then(
      (space) => answered(space.freeBytes),
      () => answered(freeBytes),
    )
  }
  return async ({ draining }) => {
    for (;;) {
      ask()
      const { unready, isStalled } = storage.facts()
      if (unready !== undefined) health.miss('store_writable', unready.message)
      else if (isStalled) health.miss('store_writable', 'The drive does not answer in time.')
      else if (freeBytes < reserveBytes) health.miss('store_writable', 'The drive is full but for its reserve.')
      else health.meet('store_writable')
      await sleep(platform.clock, WATCH_MS, { signal: draining })
    }
  }
}
