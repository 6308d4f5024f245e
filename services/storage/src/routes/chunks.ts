/** The chunk protocol: ask what is missing, send it in any order, commit. Peers and the command line speak it. */
import { CairnError } from '@cairn/kernel'
import { type IngressResponse, json, problem, type RequestContext, type RouteTable, route } from '@cairn/platform'
import { CHUNK_BYTES_MAX } from '@cairn/store'
import { type Address, addressOf, encodeManifest, MAX_MANIFEST_BYTES, parseAddress } from '@cairn/wire'
import { z } from 'zod'
import { readFrames } from '../domain/chunk-frames.ts'
import { rememberedType } from '../domain/content-type.ts'
import { commitManifest, manifestOf } from '../domain/manifest-commit.ts'
import type { StorageParts } from '../parts.ts'
import { addressParams } from './objects.ts'

/** Ids in one question; they fit into a body of `max_body_bytes`. */
const MISSING_IDS_MAX = 8192
/** Framed chunks in one request. */
const FRAMES_BYTES_MAX = 64 * 1024 * 1024

const upload = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')
const uploadQuery = z.strictObject({ upload: upload.optional() })
const address = z.string().transform((text): Address => parseAddress(text))

export function chunkRoutes(parts: StorageParts): RouteTable {
  return [...chunkReads(parts), ...chunkWrites(parts), ...manifestRoutes(parts)]
}

function chunkReads(parts: StorageParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/c/:address',
      lane: 'inline',
      summary: 'One chunk by its own hash.',
      params: addressParams,
      responses: { 200: { description: 'Its bytes, proved.', mediaType: 'application/octet-stream' } },
      errors: { not_found: 404, integrity: 502 },
      handler: async (context) => await getChunk(parts, context, context.params.address),
    }),
    route({
      method: 'POST',
      path: '/c/missing',
      lane: 'inline',
      scope: 'storage:write',
      summary: `Which of up to ${MISSING_IDS_MAX} chunks are not here; the others are kept for the upload.`,
      query: uploadQuery,
      body: z.strictObject({ ids: z.array(address).max(MISSING_IDS_MAX), upload: upload.optional() }),
      responses: {
        200: {
          description: 'Those to send.',
          schema: z.strictObject({ missing: z.array(z.string()), upload: z.string() }),
        },
      },
      handler: async (context) => {
        const name = context.body.upload ?? context.query.upload ?? context.corrId
        const missing = await parts.storage.chunks.missing(context.body.ids, name)
        return json(200, { missing, upload: name })
      },
    }),
  ]
}

async function getChunk(
  { storage, work, runtime }: StorageParts,
  context: RequestContext<unknown, unknown, unknown>,
  id: Address,
): Promise<IngressResponse> {
  const hot = storage.chunks.cached(id)
  const held = hot ?? (await work.read(async () => await storage.chunks.read(id), context))
  if (held === undefined) throw new CairnError('NotFound', `There is no chunk ${id} here.`)
  runtime.metrics.count('chunks_read_total', { tier: hot === undefined ? 'disk' : 'memory' })
  const headers = ['ETag', `"${id}"`, 'Content-Type', 'application/octet-stream', 'X-Content-Type-Options', 'nosniff']
  return { status: 200, headers: [...headers, 'Content-Length', String(held.bytes.length)], body: held.bytes, held }
}

const stored = z.strictObject({ address: z.string(), new: z.boolean() })

function chunkWrites({ storage, work, runtime }: StorageParts): RouteTable {
  return [
    route({
      method: 'PUT',
      path: '/c/:address',
      lane: 'inline',
      scope: 'storage:write',
      summary: 'Stores one chunk and keeps it for the upload.',
      params: addressParams,
      query: uploadQuery,
      body: 'bytes',
      limits: { bodyBytes: CHUNK_BYTES_MAX },
      responses: {
        200: { description: 'It was here already.', schema: stored },
        201: { description: 'Stored.', schema: stored },
      },
      errors: { digest_mismatch: 409 },
      handler: async (context) => {
        const { address: id } = context.params
        const keeper = context.query.upload ?? context.corrId
        const outcome = await work.write(
          async () => await storage.chunks.put(id, context.body, { upload: keeper }),
          context,
        )
        if (outcome === 'new') runtime.metrics.count('chunks_written_total', { tier: 'disk' })
        return json(outcome === 'new' ? 201 : 200, { address: id, new: outcome === 'new' })
      },
    }),
    route({
      method: 'POST',
      path: '/c',
      lane: 'inline',
      scope: 'storage:write',
      summary: 'Stores many chunks: each is four bytes of length, the highest first, then its bytes.',
      query: uploadQuery,
      body: 'bytes',
      limits: { stream: true, streamBytes: FRAMES_BYTES_MAX },
      responses: {
        200: {
          description: 'How many, and how many were new; all of them durable.',
          schema: z.strictObject({ chunks: z.int(), new: z.int() }),
        },
      },
      errors: { bad_frame: 400 },
      handler: async (context) => {
        const keeper = context.query.upload ?? context.corrId
        let chunks = 0
        let fresh = 0
        let last: { durable(): Promise<unknown>; written(): Promise<void> } | undefined
        for await (const chunk of readFrames(context.stream ?? [context.body])) {
          const submitted = storage.chunks.submit(addressOf(chunk), chunk, keeper, { lazy: true })
          chunks += 1
          if (submitted === 'present') continue
          await last?.written()
          last = submitted.write
          if (submitted.isNew) fresh += 1
        }
        await last?.durable()
        if (fresh > 0) runtime.metrics.count('chunks_written_total', { tier: 'disk' }, fresh)
        return json(200, { chunks, new: fresh })
      },
    }),
  ]
}

function manifestRoutes(parts: StorageParts): RouteTable {
  const { storage, runtime } = parts
  return [
    route({
      method: 'GET',
      path: '/m/:address',
      lane: 'inline',
      summary: 'The manifest of an object of more than one chunk: it proves itself against the address.',
      params: addressParams,
      limits: { stream: true },
      responses: { 200: { description: 'Deterministic DAG-CBOR.', mediaType: 'application/vnd.ipld.dag-cbor' } },
      errors: { not_found: 404, single_chunk: 404 },
      handler: async (context) => {
        const { address: id } = context.params
        const facts = await storage.objects.stat(id)
        if (facts === undefined) throw new CairnError('NotFound', `There is no object ${id} here.`)
        const manifest = await parts.work.read(async () => await manifestOf(storage, { id, facts }), context)
        const headers = ['ETag', `"${id}"`, 'Content-Type', 'application/vnd.ipld.dag-cbor']
        return { status: 200, headers, body: encodeManifest(manifest) }
      },
    }),
    route({
      method: 'PUT',
      path: '/m/:address',
      lane: 'inline',
      scope: 'storage:write',
      summary: 'Commits an upload: every chunk is proved against the manifest, and the object is visible at once.',
      params: addressParams,
      query: uploadQuery,
      body: 'bytes',
      limits: { stream: true, streamBytes: MAX_MANIFEST_BYTES },
      responses: {
        200: { description: 'It was here already.', schema: stored },
        201: { description: 'Committed, durably.', schema: stored },
      },
      errors: { malformed: 400, missing_chunks: 409, integrity: 502 },
      handler: async (context) => {
        const { address: id } = context.params
        const type = rememberedType(context.headers.get('x-object-type'))
        const keeper = context.query.upload ?? context.corrId
        const commit = { id, body: context.stream ?? [context.body], type, upload: keeper }
        const outcome = await commitManifest(storage, commit)
        if (outcome.tag === 'missing') return missingChunks(outcome.ids, context.corrId)
        parts.events.publish({
          topic: 'storage.ingest',
          body: { address: id, new: outcome.isNew, bytes: outcome.size },
        })
        if (outcome.isNew) runtime.metrics.count('bytes_in_total', { route: '/m/:address' }, outcome.size)
        return json(outcome.isNew ? 201 : 200, { address: id, new: outcome.isNew })
      },
    }),
  ]
}

function missingChunks(ids: readonly Address[], corrId: string): IngressResponse {
  const detail = `${ids.length} chunks of the object are not here; send them, then commit again.`
  const error = new CairnError('Conflict', detail, { code: 'missing_chunks' })
  return problem(error, corrId, { fields: { missing: ids.slice(0, MISSING_IDS_MAX) } })
}
