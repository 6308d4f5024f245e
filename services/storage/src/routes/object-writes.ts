/** `PUT`, `POST` and `DELETE /o`: objects in and out. */
import { empty, type IngressResponse, json, type RequestContext, type RouteTable, route } from '@cairn/platform'
import { type Address, addressOf } from '@cairn/wire'
import { z } from 'zod'
import { rememberedType } from '../domain/content-type.ts'
import { cutStream, cutWhole } from '../domain/cut.ts'
import type { PutResult } from '../domain/object-writer.ts'
import { noSuchObject, objectTooLarge, otherBytes, WRITE_ERRORS } from '../errors.ts'
import type { StorageParts } from '../parts.ts'
import { addressParams } from './params.ts'

const putAnswer = z.strictObject({ address: z.string(), size: z.int(), new: z.boolean() })
const putResponses = {
  200: { description: 'It was here already.', schema: putAnswer },
  201: { description: 'Stored, durably.', schema: putAnswer },
}
const streamQuery = z.strictObject({ stream: z.string().optional() })
const putQuery = streamQuery.extend({ hold: z.string().optional() })

/** Who asks for a hold needs the scope of holds as well. */
function holdScope({ queryText }: { readonly queryText: string }): 'storage:hold' | undefined {
  return new URLSearchParams(queryText).has('hold') ? 'storage:hold' : undefined
}

function isStreamed({ queryText }: { readonly queryText: string }): boolean {
  return new URLSearchParams(queryText).has('stream')
}

export function objectWrites(parts: StorageParts): RouteTable {
  // The bound on a stream is a live key, so the handler holds it, not the table.
  const limits = { stream: isStreamed, streamBytes: Number.MAX_SAFE_INTEGER }
  const common = { scope: 'storage:write', lane: 'inline', body: 'bytes', query: streamQuery, limits } as const
  return [
    route({
      ...common,
      method: 'POST',
      path: '/o',
      summary: 'Stores the body and says its address. With `?stream` the body may be larger than `max_body_bytes`.',
      responses: putResponses,
      errors: { payload_too_large: 413, decompress_cap: 413, ratio_cap: 413, ...WRITE_ERRORS },
      handler: async (context) => await putObject(parts, context, '/o', {}),
    }),
    route({
      ...common,
      method: 'PUT',
      path: '/o/:address',
      summary:
        'Stores the body if it is what the address says. `?stream` as above. `?hold=OWNER` holds the object in the same durable step; it needs `storage:hold` too.',
      furtherScope: holdScope,
      query: putQuery,
      params: addressParams,
      responses: putResponses,
      errors: { conflict: 409, payload_too_large: 413, decompress_cap: 413, ratio_cap: 413, ...WRITE_ERRORS },
      handler: async (context) => {
        const wanted = { expected: context.params.address, owner: context.query.hold }
        return await putObject(parts, context, '/o/:address', wanted)
      },
    }),
    route({
      method: 'DELETE',
      path: '/o/:address',
      lane: 'inline',
      scope: 'storage:delete',
      summary: 'Drops the object, durably. Chunks nobody else needs go later.',
      params: addressParams,
      responses: { 204: { description: 'Gone.' } },
      errors: { not_found: 404, referenced: 409, ...WRITE_ERRORS },
      handler: async (context) => {
        const { address } = context.params
        const wasHere = await parts.work.write(async () => await parts.storage.objects.remove(address), context)
        if (!wasHere) throw noSuchObject(address)
        return empty(204)
      },
    }),
  ]
}

type PutContext = RequestContext<unknown, unknown, Uint8Array>

interface Wanted {
  readonly expected?: Address
  readonly owner?: string | undefined
}

async function putObject(
  parts: StorageParts,
  context: PutContext,
  path: string,
  wanted: Wanted,
): Promise<IngressResponse> {
  const { runtime, events } = parts
  const beganAt = runtime.clock.now()
  const result = await storeBody(parts, context, wanted)
  const { address, size, isNew, newChunks } = result
  runtime.metrics.observe('storage_put_latency_seconds', (runtime.clock.now() - beganAt) / 1000, { route: path })
  runtime.metrics.count('bytes_in_total', { route: path }, size)
  if (newChunks > 0) runtime.metrics.count('chunks_written_total', { tier: 'disk' }, newChunks)
  events.publish({ topic: 'storage.ingest', body: { address, new: isNew, bytes: size, corr_id: context.corrId } })
  const headers = ['Location', `/o/${address}`, 'ETag', `"${address}"`]
  return json(isNew ? 201 : 200, { address, size, new: isNew }, headers)
}

async function storeBody(
  { writer, work, config }: StorageParts,
  context: PutContext,
  { expected, owner }: Wanted,
): Promise<PutResult> {
  const { chunk_size: chunkSize, limits } = config()
  const type = rememberedType(context.headers.get('content-type'))
  const request = { type, chunkSize, expected, owner, upload: context.corrId }
  const { stream, body } = context
  if (stream === undefined) {
    // All of it is here: what is not what it says is refused before any of it is stored.
    const actual = expected === undefined ? undefined : addressOf(body)
    if (expected !== undefined && actual !== undefined && actual !== expected) throw otherBytes(expected, actual)
    return await work.write(async () => await writer.put({ ...request, chunks: cutWhole(body, chunkSize) }), context)
  }
  const declared = Number(context.headers.get('content-length') ?? 0)
  if (declared > limits.max_object_bytes) throw objectTooLarge(limits.max_object_bytes)
  // A stream takes as long as its client does, so it is not a worker's job; it counts against `max_streams`.
  return await writer.put({ ...request, chunks: cutStream(stream, chunkSize, limits.max_object_bytes) })
}
