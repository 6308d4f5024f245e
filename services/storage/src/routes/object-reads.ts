/** `GET /o`: an object, whole or in ranges. */
import { CairnError } from '@cairn/kernel'
import { empty, type IngressResponse, problem, type RouteTable, route } from '@cairn/platform'
import type { Address } from '@cairn/wire'
import { answerObject, type ObjectAnswer, preconditionFailed } from '../domain/object-answer.ts'
import { ObjectBytes } from '../domain/object-bytes.ts'
import type { LoadedWindow, StoredObject } from '../domain/object-reader.ts'
import type { Window } from '../domain/window-core.ts'
import { noSuchObject } from '../errors.ts'
import type { StorageParts } from '../parts.ts'
import { addressParams } from './params.ts'
import { type AnyContext, readPatiently, readScope } from './reading.ts'

const PATH = '/o/:address'

export function objectReads(parts: StorageParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: PATH,
      lane: 'inline',
      summary: 'The object, whole or in ranges; every byte is proved before it leaves.',
      params: addressParams,
      ...readScope(parts.config()),
      responses: {
        200: { description: 'All of it.', mediaType: 'application/octet-stream' },
        206: { description: 'The ranges asked for.', mediaType: 'application/octet-stream' },
        304: { description: 'The client has it.' },
      },
      errors: {
        not_found: 404,
        precondition_failed: 412,
        range_not_satisfiable: 416,
        integrity: 502,
        read_failed: 503,
        drive_stalled: 503,
        rebuilding: 503,
      },
      limits: { stream: true },
      handler: async (context) => await getObject(parts, context, context.params.address),
    }),
  ]
}

async function getObject(parts: StorageParts, context: AnyContext, id: Address): Promise<IngressResponse> {
  const object = await parts.reader.find(id)
  if (object === undefined) throw noSuchObject(id)
  const answer = answerObject(object, {
    method: context.method,
    header: (name: string) => context.headers.get(name),
    nowMs: parts.runtime.clock.wall(),
    boundary: `cairn-${context.corrId}`,
    isPrivate: parts.config().auth.read_requires_capability,
  })
  switch (answer.tag) {
    case 'not-modified':
      return { status: 304, headers: answer.headers }
    case 'precondition-failed':
      throw preconditionFailed()
    case 'unsatisfiable': {
      const error = new CairnError('Malformed', answer.detail, { code: 'range_not_satisfiable', status: 416 })
      return problem(error, context.corrId, { headers: answer.headers })
    }
    case 'bytes':
      return await sendBytes(parts, context, object, answer)
  }
}

type BytesAnswer = Extract<ObjectAnswer, { tag: 'bytes' }>

async function sendBytes(
  parts: StorageParts,
  context: AnyContext,
  object: StoredObject,
  answer: BytesAnswer,
): Promise<IngressResponse> {
  const { status, headers, length } = answer
  const withLength = [...headers, 'Content-Length', String(length)]
  if (context.method === 'HEAD') return empty(status, withLength)
  const { metrics, clock } = parts.runtime
  const beganAt = clock.now()
  const hot = hotPiece(parts, object, answer)
  if (hot === undefined && length > 0) {
    const body = await openBytes(parts, context, object, answer)
    metrics.observe('storage_get_latency_seconds', (clock.now() - beganAt) / 1000, { route: PATH, range: answer.range })
    return { status, headers: withLength, body }
  }
  metrics.observe('storage_get_latency_seconds', (clock.now() - beganAt) / 1000, { route: PATH, range: answer.range })
  if (hot === undefined) return { status, headers, body: new Uint8Array(0) }
  metrics.count('bytes_out_total', { route: PATH }, length)
  return { status, headers, body: hot.pieces[0] ?? new Uint8Array(0), held: hot }
}

/** An answer that is one piece of one chunk in memory goes out in one write, without queue or disk. */
function hotPiece({ reader }: StorageParts, object: StoredObject, answer: BytesAnswer): LoadedWindow | undefined {
  if (answer.range === 'multiple') return undefined
  const [first, more] = answer.parts()
  const isOnePiece = first?.tag === 'window' && first.window.length === 1 && more === undefined
  return isOnePiece ? reader.loadHot(object, first.window) : undefined
}

async function openBytes(
  parts: StorageParts,
  context: AnyContext,
  object: StoredObject,
  { parts: bodyParts }: BytesAnswer,
): Promise<AsyncIterable<Uint8Array>> {
  const { reader, work, runtime } = parts
  const load = async (window: Window, inPool: <T>(read: () => Promise<T>) => Promise<T>): Promise<LoadedWindow> => {
    const loaded = reader.loadHot(object, window) ?? (await inPool(async () => await reader.load(object, window)))
    const bytes = loaded.pieces.reduce((sum, piece) => sum + piece.length, 0)
    runtime.metrics.count('bytes_out_total', { route: PATH }, bytes)
    return loaded
  }
  return await ObjectBytes.open(
    bodyParts(),
    async (window) => await load(window, async (read) => await work.read(read, context)),
    async (window) => await load(window, async (read) => await readPatiently(parts, context, read)),
  )
}
