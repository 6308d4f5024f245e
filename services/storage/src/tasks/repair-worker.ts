import { isKind, Semaphore, sleep, type TaskBody, TokenBucket } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Address } from '@cairn/wire'
import type { StorageParts } from '../parts.ts'
import { repairBudget } from '../repair/repair-core.ts'
import { REPAIR_COST_BYTES, type Repair, type Repaired, type RepairPace } from '../repair/repair-queue.ts'
import * as core from '../repair/sliding-window-core.ts'
import type { LocalDrive } from '../targets/local-drive.ts'
import { canBeLeft } from './rounds.ts'

type Repairing = Pick<StorageParts, 'drives' | 'repairs' | 'events' | 'scrubs' | 'heal'>

/**
 * Makes the repairs in the queue, all workers together within one budget. A chunk is proved again, and one that is
 * damaged is healed from another copy; with one target there is none, and it waits to be put again.
 */
export function repairWorker(platform: Platform, parts: Repairing, bytesPerSecond: number): TaskBody {
  const { rate, burst, runBytes } = repairBudget(bytesPerSecond)
  const budget = new TokenBucket(platform.clock, { rate, burst })
  const last = core.createSlidingWindow(bytesPerSecond)
  const payer = new Semaphore(1)
  const { clock, metrics } = platform
  return async ({ aborting, busyWhen }) => {
    let isWaiting = false
    busyWhen?.(() => !isWaiting)
    const pace: RepairPace = async (bytes) => {
      const askedAt = clock.now()
      {
        // More than the bucket holds is taken in parts. One worker at a time, so that two who paid at the same time do
        // not move what took both of them seconds to pay in the same moment.
        using _turn = await payer.acquire({ signal: aborting })
        for (let left = bytes; left > 0; left -= burst) await budget.take(Math.min(left, burst), { signal: aborting })
        const fitsInMs = (): number => core.waitMs(last, bytes, clock.now())
        for (let waitMs = fitsInMs(); waitMs > 0; waitMs = fitsInMs()) await sleep(clock, waitMs, { signal: aborting })
        core.record(last, bytes, clock.now())
      }
      metrics.observe('repair_wait_seconds', (clock.now() - askedAt) / 1000)
      metrics.count('repair_bytes_total', { phase: 'executed' }, bytes)
    }
    for (;;) {
      isWaiting = true
      const next = await parts.repairs.queue.recv({ signal: aborting })
      isWaiting = false
      if (next.tag === 'closed') return
      const beganAt = clock.now()
      try {
        await repairOne(platform, parts, next.item, { pace, runBytes, aborting })
      } finally {
        parts.repairs.ended(next.item)
      }
      metrics.count('repair_seconds_total', { phase: 'executed' }, (clock.now() - beganAt) / 1000)
    }
  }
}

interface RepairContext {
  readonly pace: RepairPace
  readonly runBytes: number
  readonly aborting: AbortSignal
}

async function repairOne(
  { metrics, log }: Platform,
  parts: Repairing,
  repair: Repair,
  { pace, runBytes, aborting }: RepairContext,
): Promise<void> {
  const name = repair.tag === 'chunk' ? repair.chunk.slice(0, 11) : repair.name.slice(0, 80)
  try {
    const done = repair.tag === 'chunk' ? await repairChunk(parts, repair, pace) : await repair.run(pace, runBytes)
    if (done.tag === 'skipped') {
      metrics.count('repair_skipped_total', { reason: done.reason })
      parts.repairs.failed(repair)
      return
    }
    parts.events.publish({ topic: 'storage.repair.executed', body: { repair: name, bytes: done.bytes } })
  } catch (error) {
    if (!canBeLeft(error, aborting)) throw error
    log.warn({ repair: name, error }, 'a repair was not made')
    metrics.count('repair_skipped_total', { reason: isKind(error, 'Integrity') ? 'no_copy' : 'drive' })
  }
}

/** Proves the chunk where it is said to be damaged, or on every drive that has it. */
async function repairChunk(
  parts: Repairing,
  { chunk, drive: id }: Extract<Repair, { tag: 'chunk' }>,
  pace: RepairPace,
): Promise<Repaired> {
  const drives = parts.drives.open.filter((drive) => id === undefined || drive.id === id)
  let bytes = 0
  let isMissed = true
  for (const drive of drives) {
    await pace(REPAIR_COST_BYTES)
    switch (await inspect(drive, chunk)) {
      case 'sound':
        isMissed = false
        bytes += REPAIR_COST_BYTES
        break
      case 'damaged': {
        const healed = await parts.heal(drive, chunk, pace)
        if (healed.tag === 'skipped') return healed
        parts.scrubs.healed(drive, chunk)
        isMissed = false
        bytes += healed.bytes
        break
      }
      case 'absent':
    }
  }
  return isMissed ? { tag: 'skipped', reason: 'no_copy' } : { tag: 'repaired', bytes }
}

async function inspect(drive: LocalDrive, chunk: Address): Promise<'sound' | 'absent' | 'damaged'> {
  try {
    return await drive.contents.storage.chunks.inspect(chunk)
  } catch (error) {
    if (isKind(error, 'Integrity')) return 'damaged'
    throw error
  }
}
