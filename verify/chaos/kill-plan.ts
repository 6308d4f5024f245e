/** When a life of the campaign ends: after some time, or right before names would have become durable. */
import type { Random } from '@cairn/kernel'
import type { Disk } from '@cairn/platform'
import { wrapDisk } from '../virtual/disk/wrapped-disk.ts'

export type KillPlan =
  | { readonly tag: 'after'; readonly ms: number }
  /** Between making or removing a name and the n-th sync of the directory. */
  | { readonly tag: 'before-names'; readonly nth: number }

const LIFE_MS_MIN = 150
/** Opening a journal syncs the directories above it and its own; later ones are of new and removed segments. */
const OPENING_SYNCS = 5

export function drawKillPlan(random: Random): KillPlan {
  if (random.next() < 0.5) return { tag: 'after', ms: LIFE_MS_MIN * (1 + random.next()) }
  return { tag: 'before-names', nth: OPENING_SYNCS + Math.floor(random.next() * 6) }
}

/** The disk, with the plan's moment watched for. */
export function watchNames(disk: Disk, plan: KillPlan, kill: () => void): Disk {
  let count = 0
  return wrapDisk(disk, {
    syncDirectory: async (path) => {
      count += 1
      if (plan.tag === 'before-names' && count === plan.nth) kill()
      await disk.syncDirectory(path)
    },
  })
}
