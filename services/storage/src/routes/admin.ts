/** What an operator asks: what is here, how safe it is, and to look again. */

import { storageApi } from '@cairn/api'
import { json, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import { noSuchObject } from '../errors.ts'
import type { StorageParts } from '../parts.ts'
import { durabilityReport } from '../repair/durability-report.ts'

export function adminRoutes(parts: StorageParts): RouteTable {
  return [listObjects(parts), durability(parts), scrub(parts), giveUp(parts), repair(parts)]
}

function listObjects({ objects: all, reader }: StorageParts): RouteTable[number] {
  return route({
    ...storageApi.listObjects,
    handler: async ({ query }) => {
      const ids = await all.list(query.cursor, query.limit)
      const objects: { address: Address; size: number; type: string }[] = []
      for (const id of ids) {
        const object = await reader.find(id)
        if (object !== undefined) objects.push({ address: id, size: object.facts.size, type: object.facts.type })
      }
      return json(200, { objects, cursor: ids.length < query.limit ? null : (ids.at(-1) ?? null) })
    },
  })
}

function durability(parts: StorageParts): RouteTable[number] {
  return route({
    ...storageApi.getDurability,
    handler: () => json(200, durabilityReport(parts)),
  })
}

function scrub({ scrubs }: StorageParts): RouteTable[number] {
  return route({
    ...storageApi.beginScrub,
    handler: () => {
      scrubs.begin()
      return json(202, scrubs.report())
    },
  })
}

function giveUp({ drives }: StorageParts): RouteTable[number] {
  return route({
    ...storageApi.giveUpSegment,
    handler: async ({ body }) => {
      const drive = drives.open.find(({ id }) => body.drive === undefined || id === body.drive)
      if (drive === undefined) throw new CairnError('NotFound', 'There is no such drive, or it has failed.')
      const { storage } = drive.contents
      const report = body.dry_run ? storage.wouldLose(body.segment) : await storage.giveUp(body.segment)
      const { segment, isUnreadable, damagedBytes, salvaged, lost, keptAs } = report
      return json(200, {
        segment,
        drive: drive.id,
        unreadable: isUnreadable,
        damaged_bytes: damagedBytes,
        salvaged,
        lost,
        kept_as: keptAs ?? null,
      })
    },
  })
}

function repair({ repairs, reader, replication }: StorageParts): RouteTable[number] {
  return route({
    ...storageApi.requestRepair,
    handler: async ({ body }) => {
      const id = body?.address
      if (id === undefined) {
        replication.peers.forgive()
        repairs.wakePlanner()
      } else if ((await reader.find(id)) === undefined) throw noSuchObject(id)
      else repairs.request(id)
      return json(202, { queued: true })
    },
  })
}
