/** The chunk protocol: ask what is missing, send it in any order, commit. Peers and the command line speak it. */

import { storageApi } from '@cairn/api'
import { empty, json, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import { type Address, entityTagOf } from '@cairn/wire'
import { readFrames } from '../objects/body-chunks.ts'
import { cachingHeaders, guardHeaders } from '../objects/object-answer.ts'
import { storeChunks } from '../objects/object-writer.ts'
import type { StorageParts } from '../parts.ts'
import { readScope, type StorageRequestContext } from './route-context.ts'

/** Framed chunks in one request. */
const FRAMES_BYTES_MAX = 64 * 1024 * 1024
/** Ids looked up in one step; more would hold up everybody else. */
const LOOK_UP_MAX = 1024
export function chunkRoutes(parts: StorageParts): RouteTable {
  return [...chunkReads(parts), putChunk(parts), postChunks(parts), listChunks(parts), removeChunk(parts)]
}

function chunkReads(parts: StorageParts): RouteTable {
  return [
    route({
      ...storageApi.getChunk,
      ...readScope(parts.config()),
      handler: async (context) => await getChunk(parts, context, context.params.address),
    }),
    route({
      ...storageApi.findMissingChunks,
      handler: async ({ body: { ids }, query, corrId }) => {
        const upload = query.upload ?? corrId
        const missing: Address[] = []
        const { chunks } = landingOf(parts, { ...query, upload })
        for (let at = 0; at < ids.length; at += LOOK_UP_MAX)
          missing.push(...(await chunks.missing(ids.slice(at, at + LOOK_UP_MAX), upload)))
        return json(200, { missing, upload })
      },
    }),
  ]
}

function listChunks({ drives, own }: StorageParts): RouteTable[number] {
  return route({
    ...storageApi.listChunks,
    handler: async ({ query: { after, limit } }) => {
      own.mustBeReadable()
      const pages = await Promise.all(
        drives.open.map(async (drive) => await drive.contents.storage.chunks.list(after, limit)),
      )
      return json(200, { chunks: [...new Set(pages.flat())].sort().slice(0, limit) })
    },
  })
}

function removeChunk({ drives, work }: StorageParts): RouteTable[number] {
  return route({
    ...storageApi.deleteChunk,
    handler: async (context) => {
      const { address: id } = context.params
      const remove = async (): Promise<boolean> => {
        let wasHere = false
        for (const drive of drives.open) wasHere = (await drive.contents.storage.chunks.remove(id)) || wasHere
        return wasHere
      }
      if (!(await work.write(remove, context))) throw new CairnError('NotFound', `There is no chunk ${id} here.`)
      return empty(204)
    },
  })
}

/** The store that takes the chunks of an upload. */
function landingOf(
  { own }: StorageParts,
  { upload, object }: { readonly upload: string; readonly object?: Address | undefined },
): StorageOf {
  return own.landing(object ?? upload).drive.contents.storage
}

type StorageOf = ReturnType<StorageParts['own']['landing']>['drive']['contents']['storage']

async function getChunk(
  { ownChunks: chunks, work, runtime, config }: StorageParts,
  context: StorageRequestContext,
  id: Address,
): Promise<IngressResponse> {
  const held = chunks.cached(id) ?? (await work.read(async () => await chunks.read(id), context))
  if (held === undefined) throw new CairnError('NotFound', `There is no chunk ${id} here.`)
  const isPrivate = config().auth.read_requires_capability
  const common = [...cachingHeaders(entityTagOf(id), isPrivate), ...guardHeaders(isPrivate)]
  const headers = [...common, 'Content-Type', 'application/octet-stream']
  if (context.method === 'HEAD') {
    using _unsent = held
    return { status: 200, headers: [...headers, 'Content-Length', String(held.bytes.length)] }
  }
  runtime.metrics.count('bytes_out_total', { route: '/c/:address' }, held.bytes.length)
  return { status: 200, headers, body: held.bytes, held }
}

function putChunk(parts: StorageParts): RouteTable[number] {
  const { work, runtime } = parts
  return route({
    ...storageApi.putChunk,
    limits: { bodyBytes: storageApi.CHUNK_BYTES_MAX },
    handler: async (context) => {
      const { address: id } = context.params
      const upload = context.query.upload ?? context.corrId
      const { chunks } = landingOf(parts, { ...context.query, upload })
      const put = async () => await chunks.put(id, context.body, { upload })
      const isNew = (await work.write(put, context)) === 'new'
      runtime.metrics.count('bytes_in_total', { route: '/c/:address' }, context.body.length)
      if (isNew) runtime.metrics.count('chunks_written_total', { tier: 'disk' })
      return json(isNew ? 201 : 200, { address: id, new: isNew })
    },
  })
}

function postChunks(parts: StorageParts): RouteTable[number] {
  const { runtime } = parts
  return route({
    ...storageApi.postChunks,
    limits: { stream: true, streamBytes: FRAMES_BYTES_MAX },
    handler: async (context) => {
      const frames = readFrames(context.stream ?? [context.body], storageApi.CHUNKS_MAX)
      const upload = context.query.upload ?? context.corrId
      const { chunks } = landingOf(parts, { ...context.query, upload })
      const stored = await storeChunks(chunks, frames, upload)
      runtime.metrics.count('bytes_in_total', { route: '/c' }, stored.bytes)
      if (stored.new > 0) runtime.metrics.count('chunks_written_total', { tier: 'disk' }, stored.new)
      return json(200, { chunks: stored.chunks, new: stored.new })
    },
  })
}
