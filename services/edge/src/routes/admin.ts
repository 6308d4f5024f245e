/** `/edge/admin/packs`: which packs there are, and adding and removing some while the service runs. */

import { empty, json, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import { z } from 'zod'
import { type PackConfig, packSchema } from '../config.ts'
import { noSuchPack, packConfigured, unusablePack } from '../errors.ts'
import type { PackState } from '../packs/pack-table.ts'
import type { EdgeParts } from '../parts.ts'

/** A file of a hundred gigabytes is read whole before it is served. */
const OPEN_MS = 120_000
/** Where a relative path would lead is for whoever started the node to know. */
const ABSOLUTE = /^(?:\/|[A-Za-z]:[\\/])/

const params = z.strictObject({ name: packSchema.shape.name })
const form = z.strictObject({
  path: z.string().regex(ABSOLUTE, 'must be an absolute path on the machine of the node'),
  b3: packSchema.shape.b3,
})

const shown = z.strictObject({
  name: z.string(),
  path: z.string(),
  /** Who named it: the configuration, or this route. */
  from: z.enum(['config', 'added']),
  state: z.enum(['mounted', 'failed', 'opening']),
  b3: z.string().nullable(),
  size: z.int().nullable(),
  media_type: z.string().nullable(),
  tiles: z.string().nullable(),
  min_zoom: z.int().nullable(),
  max_zoom: z.int().nullable(),
  why: z.string().nullable(),
})

type ShownPack = z.output<typeof shown>

export function adminRoutes(parts: EdgeParts): RouteTable {
  return [listPacks(parts), putPack(parts), removePack(parts)]
}

function listPacks({ config, addedPacks, packTable }: EdgeParts): RouteTable[number] {
  return route({
    method: 'GET',
    path: '/edge/admin/packs',
    lane: 'inline',
    scope: 'edge:admin',
    summary: 'Every pack: who named it, whether it is served, and why not.',
    responses: { 200: { description: 'By name.', schema: z.strictObject({ packs: z.array(shown) }) } },
    handler: () => {
      const { packs: configured } = config()
      const rows = [
        ...configured.map((pack) => describe(pack, 'config', packTable.state(pack.name))),
        ...addedPacks.beside(configured).map((pack) => describe(pack, 'added', packTable.state(pack.name))),
      ]
      return json(200, { packs: rows.sort((a, b) => (a.name < b.name ? -1 : 1)) })
    },
  })
}

function putPack({ config, addedPacks, packTable }: EdgeParts): RouteTable[number] {
  return route({
    method: 'PUT',
    path: '/edge/admin/packs/:name',
    lane: 'inline',
    scope: 'edge:admin',
    summary:
      'Opens and verifies a file on the machine of the node, and serves it under this name from now on, after restarts too.',
    params,
    body: form,
    limits: { timeoutMs: OPEN_MS },
    responses: { 200: { description: 'Served, and durably so.', schema: shown } },
    errors: { unusable_pack: 422, pack_configured: 409, limit_reached: 409, no_space: 507 },
    handler: async ({ params: { name }, body, signal }) => {
      const pack: PackConfig = {
        name,
        path: body.path,
        ...(body.b3 === undefined ? {} : { b3: body.b3 }),
        missing_tile: 204,
      }
      const file = { isOpened: false }
      const keep = async (): Promise<void> => {
        file.isOpened = true
        // The configuration may have changed while the file was read.
        refuseConfigured(config().packs, name)
        await addedPacks.put(pack)
      }
      refuseConfigured(config().packs, name)
      try {
        await packTable.add(pack, keep, signal)
      } catch (error) {
        throw !file.isOpened && isAboutFile(error) ? unusablePack(body.path, error) : error
      }
      return json(200, describe(pack, 'added', packTable.state(name)))
    },
  })
}

function removePack({ config, addedPacks, packTable }: EdgeParts): RouteTable[number] {
  return route({
    method: 'DELETE',
    path: '/edge/admin/packs/:name',
    lane: 'inline',
    scope: 'edge:admin',
    summary: 'Serves an added pack no more; its file stays where it is.',
    params,
    responses: { 204: { description: 'Gone, and durably so.' } },
    errors: { not_found: 404, pack_configured: 409, no_space: 507 },
    handler: async ({ params: { name }, signal }) => {
      refuseConfigured(config().packs, name)
      const isRemoved = await packTable.remove(name, async () => await addedPacks.remove(name), signal)
      if (!isRemoved) throw noSuchPack(name)
      return empty(204)
    },
  })
}

function refuseConfigured(configured: readonly PackConfig[], name: string): void {
  if (configured.some((pack) => pack.name === name)) throw packConfigured(name)
}

/** Whoever asked can do something about these: the file is not there, not readable, or not what it should be. */
function isAboutFile(error: unknown): boolean {
  if (!(error instanceof CairnError)) return false
  return error.kind === 'Integrity' || error.kind === 'NotFound' || error.code.startsWith('disk_')
}

function describe({ name, path, b3 }: PackConfig, from: ShownPack['from'], state: PackState | undefined): ShownPack {
  const pack = state?.tag === 'mounted' ? state.pack : undefined
  return {
    name,
    path,
    from,
    state: state?.tag ?? 'opening',
    b3: pack?.address ?? b3 ?? null,
    size: pack?.size ?? null,
    media_type: pack?.mediaType ?? null,
    tiles: pack?.facts.format ?? null,
    min_zoom: pack?.facts.minZoom ?? null,
    max_zoom: pack?.facts.maxZoom ?? null,
    why: state?.tag === 'failed' ? state.why : null,
  }
}
