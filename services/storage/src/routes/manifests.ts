/** `/m`: what an object is made of, and the commit of an upload. */

import { storageApi } from '@cairn/api'
import { type ContextOf, json, problem, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import { type Address, encodeManifest, entityTagOf, MAX_MANIFEST_BYTES } from '@cairn/wire'
import { noSuchObject } from '../errors.ts'
import type { CommitPlace } from '../objects/manifest-commit.ts'
import { cachingHeaders, guardHeaders, rememberedType } from '../objects/object-answer.ts'
import { readStoredManifest } from '../objects/object-reader.ts'
import type { StorageParts } from '../parts.ts'
import type { DriveTarget } from '../targets/drive-target.ts'
import { copiesHeader, copyScope, olderCopy, ownersIn } from './copies.ts'
import { readScope, readWithRetry, type StorageRequestContext } from './route-context.ts'

const { path: PATH } = storageApi.putManifest
/** Missing chunks that are named; the client asks `/c/missing` about the rest. */
const MISSING_NAMED_MAX = 8192

type CommitContext = ContextOf<typeof storageApi.putManifest>

export function manifestRoutes(parts: StorageParts): RouteTable {
  return [
    route({
      ...storageApi.getManifest,
      scopeInstead: copyScope,
      ...readScope(parts.config()),
      limits: { stream: true },
      handler: async (context) => {
        const { address } = context.params
        return await getManifest(parts, context, address, context.query.copy !== undefined)
      },
    }),
    route({
      ...storageApi.putManifest,
      scopeInstead: copyScope,
      limits: { stream: true, streamBytes: MAX_MANIFEST_BYTES },
      handler: async (context) => {
        try {
          return await putManifest(parts, context)
        } catch (error) {
          return olderCopy(error, context.corrId)
        }
      },
    }),
  ]
}

async function getManifest(
  parts: StorageParts,
  context: StorageRequestContext,
  id: Address,
  isCopy: boolean,
): Promise<IngressResponse> {
  const { work, config } = parts
  if (isCopy) parts.own.mustBeReadable()
  const reader = isCopy ? (await parts.own.holder(id))?.drive.contents.reader : parts.reader
  const object = await reader?.find(id)
  if (reader === undefined || object === undefined) throw noSuchObject(id)
  const manifest = await work.read(async () => await readStoredManifest(reader, object), context)
  const isPrivate = config().auth.read_requires_capability
  const common = [...cachingHeaders(entityTagOf(id), isPrivate), ...guardHeaders(isPrivate)]
  return { status: 200, headers: [...common, 'Content-Type', storageApi.MANIFEST_TYPE], body: encodeManifest(manifest) }
}

async function putManifest(parts: StorageParts, context: CommitContext): Promise<IngressResponse> {
  const { query } = context
  const id = context.params.address
  const { commits, events, runtime } = parts
  const upload = query.upload ?? context.corrId
  const beganAt = runtime.clock.now()
  const landing = parts.own.landing(query.object ?? upload)
  const place = query.copy === undefined ? parts.commitPlace(landing) : copyPlace(parts, landing, query)
  if (query.copy !== undefined) {
    parts.peersGate.admit(context.headers)
    parts.replication.replicas.mustBePlausible(query.copy)
  }
  const outcome = await commits.commit({
    place,
    id,
    body: context.stream ?? nothing(),
    type: rememberedType(context.headers.get('x-object-type')),
    upload,
    signal: context.signal,
    inPool: async (read) => await readWithRetry(parts, context, read),
  })
  if (outcome.tag === 'missing') return missingChunks(outcome.ids, context.corrId)
  const { isNew, size, copies } = outcome
  runtime.metrics.observe('storage_put_latency_seconds', (runtime.clock.now() - beganAt) / 1000, { route: PATH })
  events.publish({ topic: 'storage.ingest', body: { address: id, new: isNew, bytes: size, corr_id: context.corrId } })
  const headers = ['Location', `/o/${id}`, 'ETag', entityTagOf(id), ...copiesHeader(copies)]
  return json(isNew ? 201 : 200, { address: id, size, new: isNew }, headers)
}

/** A copy from another node: on the drive its chunks are on, and nowhere else. */
function copyPlace(parts: StorageParts, landing: DriveTarget, query: CommitContext['query']): CommitPlace {
  const { copy: version = 0, owners } = query
  return {
    chunks: landing.drive.contents.chunks,
    commit: async (object) => {
      await parts.own.mustBeNewer(object.id, version)
      const { copies } = landing.drive.contents.storage
      return { isNew: (await copies.commit({ ...object, version, owners: ownersIn(owners) })) === 'new' }
    },
  }
}

function missingChunks(ids: readonly Address[], corrId: string): IngressResponse {
  const detail = `${ids.length} chunks of the object are not here; send them, then commit again.`
  const error = new CairnError('Conflict', detail, { code: 'missing_chunks' })
  return problem(error, corrId, { fields: { missing: ids.slice(0, MISSING_NAMED_MAX) } })
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
