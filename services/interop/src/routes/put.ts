/** `POST /put`: content in, as JSON or as it comes. */
import type { AuditFacts, CallContext } from '@cairn/clients'
import { json, type RequestContext, type RequestHead, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import { z } from 'zod'
import { noFacts } from '../audit.ts'
import { storeObject, storeStream } from '../domain/object-in.ts'
import { answeredBy, needsStorage, refusal, shed } from '../errors.ts'
import { type InteropParts, requireWhole } from '../parts.ts'

export const PUT_PATH = '/put'
const OCTETS = 'application/octet-stream'
const JSON_TYPE = /^application\/(?:[a-z0-9.-]+\+)?json[ \t]*(?:;|$)/i

const form = z.strictObject({
  payload: z.string(),
  meta: z
    .strictObject({
      type: z.string().max(255).optional(),
      content_encoding: z.literal('identity').optional(),
      provider: z.string().max(64).optional(),
    })
    .optional(),
})

type ObjectPutContext = RequestContext<unknown, unknown, Uint8Array>

function isJson({ headers }: Pick<RequestHead, 'headers'>): boolean {
  return JSON_TYPE.test(headers.get('content-type') ?? '')
}

export function putRoutes(parts: InteropParts): RouteTable {
  return [
    route({
      method: 'POST',
      path: PUT_PATH,
      lane: 'inline',
      scope: 'interop:put',
      summary:
        'Stores `payload` (base64) of a JSON body, or any other body as it comes; 202 once it is durable and audited.',
      body: 'bytes',
      limits: { stream: (head) => !isJson(head), streamBytes: Number.MAX_SAFE_INTEGER },
      responses: {
        202: {
          description: 'Stored, durably.',
          schema: z.strictObject({ address: z.string(), corr_id: z.string() }),
        },
      },
      errors: {
        MALFORMED: 400,
        DECOMP_LIMIT: 400,
        BODY_LIMIT: 413,
        BACKPRESSURE: 503,
        DOWNSTREAM_UNAVAILABLE: 503,
        JOURNAL_LOST: 503,
      },
      handler: async (context) => await parts.pressure.watched(async () => await put(parts, context)),
    }),
  ]
}

async function put(parts: InteropParts, context: ObjectPutContext): Promise<IngressResponse> {
  const { corrId } = context
  const { runtime, work, audit, events, ledger } = parts
  requireWhole(parts)
  if (parts.pressure.isBrown) throw shed('A put')
  const isStreamed = context.stream !== undefined
  // A stream takes as long as its client does, so it is not a worker's job; it counts against `max_streams`.
  const address = isStreamed
    ? await putStream(parts, context)
    : await work.put(async () => await putJson(parts, context), context)
  const facts: AuditFacts = {
    ...noFacts(runtime.clock),
    decision: 'allow',
    action: 'put',
    b3: address,
    corr_id: corrId,
  }
  await ledger.note([facts])
  runtime.metrics.count('audit_emitted_total', { sink: 'journal' })
  audit.tell(facts)
  events.publish({ topic: 'interop.put.accepted', body: { address, corr_id: corrId } })
  return json(202, { address, corr_id: corrId })
}

async function putJson({ storage, pressure }: InteropParts, context: ObjectPutContext): Promise<Address> {
  if (storage === undefined) throw needsStorage()
  const { bytes, type } = readForm(context.body)
  const call = callOf(context)
  return await pressure.call('storage', 'put', call, async (each) => await storeObject(storage, bytes, type, each))
}

async function putStream({ storage, config, runtime }: InteropParts, context: ObjectPutContext): Promise<Address> {
  if (storage === undefined) throw needsStorage()
  const bytesMax = config().limits.max_put_bytes
  if (Number(context.headers.get('content-length') ?? 0) > bytesMax) {
    throw refusal('BODY_LIMIT', `An object has at most ${bytesMax} bytes here; see limits.max_put_bytes.`)
  }
  const type = context.headers.get('content-type') ?? OCTETS
  const stream = context.stream ?? []
  const stored = await storeStream(storage, stream, { type, bytesMax }, callOf(context)).catch((error: unknown) => {
    throw answeredBy('storage', error)
  })
  runtime.metrics.count('stream_chunks_total', { route: PUT_PATH }, stored.chunks)
  return stored.address
}

function callOf({ deadline, corrId, signal }: ObjectPutContext): CallContext {
  return { deadline, corrId, signal }
}

function readForm(body: Uint8Array): { readonly bytes: Uint8Array; readonly type: string } {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw new CairnError('Malformed', 'The body is not JSON in UTF-8.', { cause })
  }
  const read = form.safeParse(value)
  if (!read.success) {
    const [issue] = read.error.issues
    throw refusal('MALFORMED', `The body must be { payload, meta? }: ${issue?.message ?? 'it is not'}.`)
  }
  const { payload, meta } = read.data
  try {
    return { bytes: Uint8Array.fromBase64(payload, { lastChunkHandling: 'strict' }), type: meta?.type ?? OCTETS }
  } catch (cause) {
    throw new CairnError('Malformed', 'The payload is not base64.', { cause })
  }
}
