/**
 * Compares what is here with where it should be, and plans repairs.
 *
 *     every round, or when asked ─▶ chunks of the objects asked for ─▶ `repair`, as far as there is room
 *                                                                        └─ full: the next round goes on from there
 *
 *     several targets: everything this node holds, against what every target says it has (`repair/repair-plan.ts`)
 *
 * With one target no chunk can lack a copy, so only what an operator asks for is planned: each chunk is proved again.
 */
import { isKind, type TaskBody } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { type Address, addressFromDigest } from '@cairn/wire'
import type { StorageParts } from '../parts.ts'
import type { Replication } from '../placement/open-replication.ts'
import { canBeLeft, jittered } from './rounds.ts'

type PlannerParts = Pick<StorageParts, 'reader' | 'repairs' | 'placement' | 'scrubs' | 'events' | 'replication' | 'own'>

export function repairPlanner(platform: Platform, parts: PlannerParts, intervalMs: number): TaskBody {
  const { placement, repairs, scrubs, events, replication } = parts
  return async ({ draining }) => {
    const { copies } = await placement.until((value) => value !== undefined, { signal: draining })
    platform.metrics.set('rf_target', copies)
    for (;;) {
      const seen = repairs.asked.version
      repairs.beginRound()
      const asked = await planRequests(platform, parts, draining)
      const planned = asked + (await planAll(platform, replication, draining))
      const observed = replication.replicas.isAlone ? scrubs.observedCopies() : replication.plan.last?.proved
      platform.metrics.set('rf_observed', observed ?? 0)
      if (planned > 0) events.publish({ topic: 'storage.repair.planned', body: { repairs: planned } })
      const timer = platform.clock.timer(jittered(platform, intervalMs), () => repairs.wakePlanner())
      try {
        await repairs.asked.changed(seen, { signal: draining })
      } finally {
        timer.cancel()
      }
    }
  }
}

/** With several targets: everything. A drive that fails meanwhile is looked at again in the next round. */
async function planAll(platform: Platform, { replicas, plan }: Replication, signal: AbortSignal): Promise<number> {
  if (replicas.isAlone) return 0
  try {
    return await plan.round(signal)
  } catch (error) {
    if (!canBeLeft(error, signal)) throw error
    platform.log.warn({ error }, 'a round of the repair planner was not finished')
    return 0
  }
}

/** What an operator, or a put with too few copies, asked for: how many repairs there was room for. */
async function planRequests(
  platform: Platform,
  { reader, repairs, replication, own }: PlannerParts,
  signal: AbortSignal,
): Promise<number> {
  let planned = 0
  for (const { object, from } of repairs.requests()) {
    try {
      if (!replication.replicas.isAlone) planned += await replication.plan.object(object)
      if ((await own.holder(object)) === undefined) {
        repairs.planned(object, undefined)
        continue
      }
      let at = 0
      let isFull = false
      for await (const chunk of chunksOf(reader, object)) {
        isFull = at >= from && !repairs.offer(chunk)
        if (isFull) break
        at += 1
      }
      repairs.planned(object, isFull ? at : undefined)
      planned += Math.max(0, at - from)
    } catch (error) {
      if (isKind(error, 'Integrity')) repairs.planned(object, undefined)
      else if (!canBeLeft(error, signal)) throw error
      platform.log.warn({ error }, 'a repair was not planned')
    }
  }
  return planned
}

async function* chunksOf(reader: PlannerParts['reader'], id: Address): AsyncGenerator<Address> {
  const object = await reader.find(id)
  if (object === undefined) return
  if (object.facts.pages.length === 0) yield id
  for await (const page of reader.chunkList(object)) for (const chunk of page) yield addressFromDigest(chunk.id)
}
