/**
 * Plans and makes copies. With one target there is nowhere to copy to or from: the planner states so each round and
 * the workers wait.
 */
import { type Queue, type TaskBody, TokenBucket } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Storage } from '@cairn/store'
import type { Address } from '@cairn/wire'
import { pause } from './upkeep.ts'

export interface Repair {
  readonly chunk: Address
  readonly bytes: number
}

/** Where copies should be. */
export interface Placement {
  readonly copies: number
}

export interface RepairOptions {
  readonly queue: Queue<Repair>
  readonly intervalMs: number
  readonly placement: () => Placement
}

export function repairPlanner(
  platform: Platform,
  storage: Storage,
  { intervalMs, placement }: RepairOptions,
): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      const { copies } = placement()
      platform.metrics.set('rf_target', copies)
      platform.metrics.set('rf_observed', storage.facts().damagedSegments.length === 0 ? copies : 0)
      await pause(platform, intervalMs, draining)
    }
  }
}

/** Proves the chunk again within the shared budget; a damaged one is reported by the read itself. */
export function repairWorker(
  platform: Platform,
  storage: Storage,
  queue: Queue<Repair>,
  bytesPerSecond: number,
): TaskBody {
  const budget = new TokenBucket(platform.clock, { rate: bytesPerSecond, burst: Math.max(bytesPerSecond, 1024 * 1024) })
  return async ({ aborting }) => {
    for (;;) {
      const next = await queue.recv({ signal: aborting })
      if (next.tag === 'closed') return
      const began = platform.clock.now()
      await budget.take(next.item.bytes, { signal: aborting })
      platform.metrics.observe('repair_wait_seconds', (platform.clock.now() - began) / 1000)
      await storage.chunks.inspect(next.item.chunk)
      platform.metrics.count('repair_bytes_total', { phase: 'executed' }, next.item.bytes)
    }
  }
}
