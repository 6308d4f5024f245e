/** `GET /o`: an object, whole or in ranges. */

import { storageApi } from '@cairn/api'
import { empty, problem, type RouteTable, route } from '@cairn/http'
import { CairnError, type Labels } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import { noSuchObject } from '../errors.ts'
import { type BytesAnswer, ObjectResponder, preconditionFailed } from '../objects/object-answer.ts'
import { ObjectBytes } from '../objects/object-bytes.ts'
import type { LoadedWindow, LocatedObject } from '../objects/object-reader.ts'
import type { ChunkWindow } from '../objects/window-core.ts'
import type { StorageParts } from '../parts.ts'
import { readScope, readWithRetry, type StorageRequestContext } from './route-context.ts'

const { path: PATH } = storageApi.getObject

/** The same objects every time, which is what the metrics are quick with. */
const BYTES_LABELS = { route: PATH }
const LATENCY_LABELS: Readonly<Record<BytesAnswer['range'], Labels>> = {
  whole: { route: PATH, range: 'whole' },
  single: { route: PATH, range: 'single' },
  multiple: { route: PATH, range: 'multiple' },
}

/** At once where the object is known and in memory: then no promise, timer or queue is worth its cost. */
type ObjectReadResponse = IngressResponse | Promise<IngressResponse>

export function objectReads(parts: StorageParts): RouteTable {
  const answers = new ObjectResponder(parts.config().auth.read_requires_capability)
  return [
    route({
      ...storageApi.getObject,
      ...readScope(parts.config()),
      limits: { stream: true },
      handler: (context) => getObject(parts, answers, context, context.params.address),
    }),
  ]
}

function getObject(
  parts: StorageParts,
  answers: ObjectResponder,
  context: StorageRequestContext,
  id: Address,
): ObjectReadResponse {
  const facts = parts.objects.statRecent(id)
  if (facts !== undefined) return answerObject(parts, answers, context, { id, facts })
  return parts.reader.find(id).then((object) => {
    if (object === undefined) throw noSuchObject(id)
    return answerObject(parts, answers, context, object)
  })
}

function answerObject(
  parts: StorageParts,
  answers: ObjectResponder,
  context: StorageRequestContext,
  object: LocatedObject,
): ObjectReadResponse {
  const { method, headers, corrId } = context
  const request = { method, headers, nowMs: parts.runtime.clock.wall(), boundary: `cairn-${corrId}` }
  const answer = answers.to(request, object)
  switch (answer.tag) {
    case 'not-modified':
      return { status: 304, headers: answer.headers }
    case 'precondition-failed':
      throw preconditionFailed()
    case 'unsatisfiable': {
      const error = new CairnError('Malformed', answer.detail, { code: 'range_not_satisfiable', status: 416 })
      return problem(error, corrId, { headers: answer.headers })
    }
    case 'bytes':
      return sendBytes(parts, context, object, answer)
  }
}

function sendBytes(
  parts: StorageParts,
  context: StorageRequestContext,
  object: LocatedObject,
  answer: BytesAnswer,
): ObjectReadResponse {
  const { status, headers, length, onePiece } = answer
  if (context.method === 'HEAD') return empty(status, withLength(answer))
  const beganAt = parts.runtime.clock.now()
  if (onePiece === undefined) {
    if (length > 0) return streamBytes(parts, context, object, answer, beganAt)
    observeLatency(parts, answer, beganAt)
    return { status, headers, body: new Uint8Array(0) }
  }
  const hot = hotPiece(parts, object, onePiece, length)
  if (hot !== undefined) return onePieceAnswer(parts, answer, hot, beganAt)
  return parts.work
    .read(async () => await parts.reader.load(object, onePiece), context)
    .then((held) => onePieceAnswer(parts, answer, { bytes: onlyPiece(held), held }, beganAt))
}

interface HeldPiece {
  readonly bytes: Uint8Array
  readonly held: Disposable
}

/** One piece of one chunk goes out in one write, as it lies in memory. */
function onePieceAnswer(
  parts: StorageParts,
  answer: BytesAnswer,
  { bytes, held }: HeldPiece,
  beganAt: number,
): IngressResponse {
  observeLatency(parts, answer, beganAt)
  parts.runtime.metrics.count('bytes_out_total', BYTES_LABELS, bytes.length)
  return { status: answer.status, headers: answer.headers, body: bytes, held }
}

function hotPiece(
  parts: StorageParts,
  object: LocatedObject,
  window: ChunkWindow,
  length: number,
): HeldPiece | undefined {
  if (length === object.facts.size) {
    // An object of one chunk, all of it: its chunk has its name, and is the body as it lies there.
    const held = parts.chunks.cached(object.id)
    return held === undefined ? undefined : { bytes: held.bytes, held }
  }
  const held = parts.reader.loadHot(object, window)
  return held === undefined ? undefined : { bytes: onlyPiece(held), held }
}

function onlyPiece({ pieces }: LoadedWindow): Uint8Array {
  return pieces[0] ?? new Uint8Array(0)
}

async function streamBytes(
  parts: StorageParts,
  context: StorageRequestContext,
  object: LocatedObject,
  answer: BytesAnswer,
  beganAt: number,
): Promise<IngressResponse> {
  const body = await openBytes(parts, context, object, answer)
  observeLatency(parts, answer, beganAt)
  return { status: answer.status, headers: withLength(answer), body }
}

function observeLatency({ runtime }: StorageParts, { range }: BytesAnswer, beganAt: number): void {
  const seconds = (runtime.clock.now() - beganAt) / 1000
  runtime.metrics.observe('storage_get_latency_seconds', seconds, LATENCY_LABELS[range])
}

function withLength({ headers, length }: BytesAnswer): string[] {
  return [...headers, 'Content-Length', String(length)]
}

async function openBytes(
  parts: StorageParts,
  context: StorageRequestContext,
  object: LocatedObject,
  { parts: bodyParts }: BytesAnswer,
): Promise<AsyncIterable<Uint8Array>> {
  const { reader, work, runtime } = parts
  const load = async (
    window: ChunkWindow,
    inPool: <T>(read: () => Promise<T>) => Promise<T>,
  ): Promise<LoadedWindow> => {
    const loaded = reader.loadHot(object, window) ?? (await inPool(async () => await reader.load(object, window)))
    const bytes = loaded.pieces.reduce((sum, piece) => sum + piece.length, 0)
    runtime.metrics.count('bytes_out_total', BYTES_LABELS, bytes)
    return loaded
  }
  return await ObjectBytes.open(
    bodyParts(),
    async (window) => await load(window, async (read) => await work.read(read, context)),
    async (window) => await load(window, async (read) => await readWithRetry(parts, context, read)),
  )
}
