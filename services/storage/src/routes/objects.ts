/** Objects by their address: `/o`, and the references that keep them. */
import { CairnError, isKind, sleep } from '@cairn/kernel'
import { empty, type IngressResponse, json, type RequestContext, type RouteTable, route } from '@cairn/platform'
import { type Address, parseAddress } from '@cairn/wire'
import { z } from 'zod'
import { rememberedType } from '../domain/content-type.ts'
import { answerObject, type ReadRange } from '../domain/object-answer.ts'
import type { StoredObject } from '../domain/object-reader.ts'
import type { PutResult } from '../domain/object-writer.ts'
import type { StorageParts } from '../parts.ts'

type Context = RequestContext<unknown, unknown, unknown>

export const addressParams = z.strictObject({ address: z.string().transform((text): Address => parseAddress(text)) })

const putAnswer = z.strictObject({ address: z.string(), size: z.int(), new: z.boolean() })
const putResponses = {
  200: { description: 'It was here already.', schema: putAnswer },
  201: { description: 'Stored, durably.', schema: putAnswer },
}

/** A pause before a window is asked for again, when the pool is full in the middle of an answer. */
const WINDOW_RETRY_MS = 20

export function objectRoutes(parts: StorageParts): RouteTable {
  return [...readRoutes(parts), ...writeRoutes(parts), ...referenceRoutes(parts)]
}

function readRoutes(parts: StorageParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/o/:address',
      lane: 'inline',
      summary: 'The object, whole or in ranges; every byte is proved before it leaves.',
      params: addressParams,
      ...(parts.config().auth.read_requires_capability ? { scope: 'storage:admin' as const } : {}),
      responses: {
        200: { description: 'All of it.', mediaType: 'application/octet-stream' },
        206: { description: 'The ranges asked for.', mediaType: 'application/octet-stream' },
        304: { description: 'The client has it.' },
      },
      errors: { not_found: 404, precondition_failed: 412, range_not_satisfiable: 416, integrity: 502 },
      limits: { stream: true },
      handler: async (context) => await getObject(parts, context, context.params.address),
    }),
  ]
}

async function getObject(parts: StorageParts, context: Context, id: Address): Promise<IngressResponse> {
  const facts = await parts.storage.objects.stat(id)
  if (facts === undefined) throw new CairnError('NotFound', `There is no object ${id} here.`)
  const object = { id, facts }
  const request = {
    method: context.method,
    header: (name: string) => context.headers.get(name),
    nowMs: parts.runtime.clock.wall(),
    corrId: context.corrId,
    isPrivate: parts.config().auth.read_requires_capability,
  }
  const answer = answerObject(object, request, windowedRead(parts, context, object))
  return answer.status === 200 && facts.pages.length === 0 ? (answerHot(parts, id, answer) ?? answer) : answer
}

/** A small object that is in memory goes out in one write, without queue or disk. */
function answerHot(
  { reader, runtime }: StorageParts,
  id: Address,
  answer: IngressResponse,
): IngressResponse | undefined {
  if (answer.body === undefined) return undefined
  const held = reader.hot(id)
  if (held === undefined) return undefined
  runtime.metrics.count('chunks_read_total', { tier: 'memory' })
  return { ...answer, body: held.bytes, held }
}

function windowedRead(parts: StorageParts, context: Context, object: StoredObject): ReadRange {
  const { reader, work, runtime } = parts
  const inPool = async <T>(read: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await work.read(read, context)
      } catch (error) {
        // The answer has begun: a full pool makes it wait, not end.
        if (!isKind(error, 'Busy')) throw error
        await sleep(runtime.clock, WINDOW_RETRY_MS, { signal: context.signal })
      }
    }
  }
  return async function* (range) {
    for await (const piece of reader.read(object, range, inPool)) {
      runtime.metrics.count('bytes_out_total', { route: '/o/:address' }, piece.length)
      yield piece
    }
  }
}

function isStreamed({ queryText }: { readonly queryText: string }): boolean {
  return new URLSearchParams(queryText).has('stream')
}

const streamQuery = z.strictObject({ stream: z.string().optional() })
const putErrors = { digest_mismatch: 409, payload_too_large: 413, no_space: 507 }

function writeRoutes(parts: StorageParts): RouteTable {
  const limits = { stream: isStreamed, streamBytes: parts.config().limits.max_object_bytes }
  const common = { scope: 'storage:write', lane: 'inline', body: 'bytes', query: streamQuery, limits } as const
  return [
    route({
      ...common,
      method: 'POST',
      path: '/o',
      summary: 'Stores the body and says its address. With `?stream` the body may be larger than `max_body_bytes`.',
      responses: putResponses,
      errors: putErrors,
      handler: async (context) => await putObject(parts, context, undefined),
    }),
    route({
      ...common,
      method: 'PUT',
      path: '/o/:address',
      summary: 'Stores the body if it is what the address says.',
      params: addressParams,
      responses: putResponses,
      errors: putErrors,
      handler: async (context) => await putObject(parts, context, context.params.address),
    }),
    route({
      method: 'DELETE',
      path: '/o/:address',
      lane: 'inline',
      scope: 'storage:delete',
      summary: 'Drops the object, durably. Chunks nobody else needs go later.',
      params: addressParams,
      responses: { 204: { description: 'Gone.' } },
      errors: { not_found: 404, referenced: 409 },
      handler: async (context) => {
        const { address } = context.params
        const wasHere = await parts.work.write(async () => await parts.storage.objects.remove(address), context)
        if (!wasHere) throw new CairnError('NotFound', `There is no object ${address} here.`)
        return empty(204)
      },
    }),
  ]
}

type PutContext = RequestContext<unknown, unknown, Uint8Array>

async function putObject(
  parts: StorageParts,
  context: PutContext,
  expected: Address | undefined,
): Promise<IngressResponse> {
  const { writer, work, runtime, events } = parts
  const { chunk_size: chunkSize, limits } = parts.config()
  const request = {
    body: context.stream ?? [context.body],
    type: rememberedType(context.headers.get('content-type')),
    chunkSize,
    bytesMax: limits.max_object_bytes,
    expected,
    upload: context.corrId,
  }
  // A stream takes as long as its client does, so it is not a worker's job; it counts against `max_streams`.
  const put = async (): Promise<PutResult> => await writer.put(request)
  const result = context.stream === undefined ? await work.write(put, context) : await put()
  runtime.metrics.count('bytes_in_total', { route: '/o' }, result.size)
  if (result.newChunks > 0) runtime.metrics.count('chunks_written_total', { tier: 'disk' }, result.newChunks)
  const { address, size } = result
  events.publish({ topic: 'storage.ingest', body: { address, new: result.new, bytes: size } })
  const headers = ['Location', `/o/${address}`, 'ETag', `"${address}"`]
  return json(result.new ? 201 : 200, { address, size, new: result.new }, headers)
}

const holdParams = z.strictObject({ owner: z.string(), address: addressParams.shape.address })

function referenceRoutes({ storage, work }: StorageParts): RouteTable {
  return [
    route({
      method: 'PUT',
      path: '/refs/:owner/:address',
      lane: 'inline',
      scope: 'storage:hold',
      summary: 'Keeps the object from being deleted for as long as the owner holds it. Durable, and idempotent.',
      params: holdParams,
      responses: { 204: { description: 'Held.' } },
      errors: { not_found: 404 },
      handler: async (context) => {
        const { owner, address } = context.params
        await work.write(async () => await storage.objects.hold(owner, address), context)
        return empty(204)
      },
    }),
    route({
      method: 'DELETE',
      path: '/refs/:owner/:address',
      lane: 'inline',
      scope: 'storage:hold',
      summary: 'Lets go of the object. Idempotent.',
      params: holdParams,
      responses: { 204: { description: 'Not held by this owner any more.' } },
      handler: async (context) => {
        const { owner, address } = context.params
        await work.write(async () => await storage.objects.release(owner, address), context)
        return empty(204)
      },
    }),
  ]
}
