import { type Health, sleep, type TaskBody } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Drives } from '../targets/drives.ts'
import type { LocalDrive } from '../targets/local-drive.ts'

/** How soon a drive that fails, fills up or works again shows in `/readyz`, and one that goes or comes is noticed. */
const WATCH_MS = 500

export interface Watched {
  readonly health: Health
  /** A drive has gone or come back. */
  readonly onChange: () => void
}

/** Says whether this node takes writes. Reads go on whatever it says. */
export function driveWatcher(platform: Platform, drives: Drives, { health, onChange }: Watched): TaskBody {
  const freeBytes = new Map<LocalDrive, number>()
  const once = new Once()
  // Never waited for: a drive that hangs would hang the one who has to say so.
  const ask = (drive: LocalDrive): void =>
    once.run(drive, () =>
      platform.disk.space(drive.path).then((space) => {
        freeBytes.set(drive, space.freeBytes)
      }),
    )
  const look = (): void =>
    once.run(drives, async () => {
      if (await drives.look()) onChange()
    })
  return async ({ draining }) => {
    for (;;) {
      look()
      for (const drive of drives.open) ask(drive)
      const whys = drives.all.map((drive) => whyNot(drive, freeBytes.get(drive)))
      // One drive that takes writes is enough to be asked for them; how many copies there are then is said to each.
      if (whys.includes(undefined)) health.meet('store_writable')
      else health.miss('store_writable', whys[0] ?? 'There is no drive.')
      await sleep(platform.clock, WATCH_MS, { signal: draining })
    }
  }
}

function whyNot({ state }: LocalDrive, freeBytes: number | undefined): string | undefined {
  if (state.tag === 'failed') return state.why
  const { unready, isStalled, reserve } = state.storage.facts()
  if (unready !== undefined) return unready.message
  if (isStalled) return 'The drive does not answer in time.'
  const { leftAloneBytes } = reserve
  return (freeBytes ?? leftAloneBytes) < leftAloneBytes ? 'The drive is full but for its reserve.' : undefined
}

/** Work that is not begun again before it has ended; what becomes of it, the work itself says. */
class Once {
  readonly #under = new Set<unknown>()

  run(key: unknown, work: () => Promise<void>): void {
    if (this.#under.has(key)) return
    const ended = (): void => void this.#under.delete(key)
    work().then(ended, ended)
    this.#under.add(key)
  }
}
