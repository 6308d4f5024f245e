/** `PUT`, `POST` and `DELETE /o`: objects in and out. */
import { storageApi } from '@cairn/api'
import { type ContextOf, empty, json, type RequestContext, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import { type Address, addressOf, parseAddress, type Scope } from '@cairn/wire'
import { noSuchObject, objectTooLarge, otherBytes } from '../errors.ts'
import { cutStream, cutWhole } from '../objects/body-chunks.ts'
import { rememberedType } from '../objects/object-answer.ts'
import type { ObjectPutResult } from '../objects/object-writer.ts'
import type { TreeProgress } from '../objects/tree-holds.ts'
import type { StorageParts } from '../parts.ts'
import { PEER_NODE } from '../targets/peers-gate.ts'
import { unsignedDelete } from '../targets/statements.ts'
import { copiesHeader, copyScope, olderCopy, ownersIn } from './copies.ts'

// `/refs`: who keeps an object from being deleted.

export function referenceRoutes({ objects, own, work, treeHolds }: StorageParts): RouteTable {
  return [
    route({
      ...storageApi.holdObject,
      scopeInstead: copyScope,
      limits: { stream: isOfTree },
      handler: async (context) => {
        const { owner, address: id } = context.params
        if (context.query.tree !== undefined) return await progressLines(treeHolds.hold(owner, id))
        const at = context.query.copy === undefined ? objects : own
        await work.write(async () => await at.hold(owner, id), context)
        return empty(204)
      },
    }),
    route({
      ...storageApi.releaseObject,
      scopeInstead: copyScope,
      limits: { stream: isOfTree },
      handler: async (context) => {
        const { owner, address: id } = context.params
        const { tree, keep = '' } = context.query
        const kept = addressesIn(keep)
        if (tree !== undefined) return await progressLines(treeHolds.release(owner, id, kept))
        const at = context.query.copy === undefined ? objects : own
        await work.write<unknown>(async () => await at.release(owner, id), context)
        return empty(204)
      },
    }),
  ]
}

function isOfTree({ queryText }: { readonly queryText: string }): boolean {
  return new URLSearchParams(queryText).has('tree')
}

const KEEP_MAX = 64

function addressesIn(list: string): Address[] {
  const all = list === '' ? [] : list.split(',')
  if (all.length <= KEEP_MAX) return all.map((text) => parseAddress(text))
  throw new CairnError('Malformed', `At most ${KEEP_MAX} trees can be kept.`)
}

/** What is told before the first step is told in the status; after it, a failure breaks the answer off. */
async function progressLines(steps: AsyncGenerator<TreeProgress>): Promise<IngressResponse> {
  const first = await steps.next()
  return { status: 200, headers: ['Content-Type', 'application/x-ndjson'], body: linesOf(steps, first) }
}

async function* linesOf(
  steps: AsyncGenerator<TreeProgress>,
  first: IteratorResult<TreeProgress, void>,
): AsyncGenerator<Uint8Array> {
  let last: TreeProgress | undefined
  for (let step = first; step.done !== true; step = await steps.next()) {
    last = step.value
    yield lineOf(step.value, {})
  }
  if (last !== undefined) yield lineOf(last, { done: true })
}

function lineOf({ objects, changed, missing, missingAddresses }: TreeProgress, more: object): Uint8Array {
  const fields = { objects, changed, missing, missing_addresses: missingAddresses, ...more }
  return new TextEncoder().encode(`${JSON.stringify(fields)}\n`)
}

/** Who asks for a hold needs the scope of holds as well. */
function furtherScope(head: { readonly queryText: string }): Scope | undefined {
  return new URLSearchParams(head.queryText).has('hold') ? 'storage:hold' : undefined
}

function isStreamed({ queryText }: { readonly queryText: string }): boolean {
  return new URLSearchParams(queryText).has('stream')
}

export function objectWrites(parts: StorageParts): RouteTable {
  // The bound on a stream is a live key, so the handler holds it, not the table.
  const limits = { stream: isStreamed, streamBytes: Number.MAX_SAFE_INTEGER }
  return [
    route({
      ...storageApi.postObject,
      limits,
      handler: async (context) => await putObject(parts, context, '/o', {}),
    }),
    route({
      ...storageApi.putObject,
      furtherScope,
      scopeInstead: copyScope,
      limits,
      handler: async (context) => {
        const { copy } = context.query
        if (copy !== undefined) return await putCopy(parts, context, copy)
        const wanted = { expected: context.params.address, owner: context.query.hold }
        return await putObject(parts, context, '/o/:address', wanted)
      },
    }),
    route({
      ...storageApi.deleteObject,
      scopeInstead: copyScope,
      handler: async (context) => {
        const { address } = context.params
        if (context.query.copy !== undefined) return await removeCopy(parts, context, context.query.copy)
        const wasHere = await parts.work.write(async () => await parts.objects.remove(address), context)
        if (!wasHere) throw noSuchObject(address)
        return empty(204)
      },
    }),
  ]
}

type PutContext = RequestContext<unknown, unknown, Uint8Array>

type CopyContext = ContextOf<typeof storageApi.putObject>

/** A whole object from another node, for the drives of this one. */
async function putCopy(parts: StorageParts, context: CopyContext, version: number): Promise<IngressResponse> {
  const { own, work, peersGate, config, replication } = parts
  const { params, query, body, headers, corrId } = context
  const { address: id } = params
  peersGate.admit(headers)
  replication.replicas.mustBePlausible(version)
  const actual = addressOf(body)
  if (actual !== id) throw otherBytes(id, actual)
  const type = rememberedType(headers.get('content-type'))
  const size = query.chunk_size ?? config().chunk_size
  const copy = { id, bytes: body, type, chunkSize: size, version, owners: ownersIn(query.owners) }
  try {
    const isNew = (await work.write(async () => await own.put(copy), context)) === 'new'
    return json(isNew ? 201 : 200, { address: id, size: body.length, new: isNew })
  } catch (error) {
    return olderCopy(error, corrId)
  }
}

type RemoveContext = ContextOf<typeof storageApi.deleteObject>

/** A delete another node knows of. */
async function removeCopy(parts: StorageParts, context: RemoveContext, version: number): Promise<IngressResponse> {
  const { own, work, peersGate, statements, replication } = parts
  const { address: id } = context.params
  peersGate.admit(context.headers)
  replication.replicas.mustBePlausible(version)
  const text = context.headers.get('x-cairn-statement')
  const believed = (): Uint8Array | undefined => statements.deleteIn(text, id, version)
  if (believed() === undefined && text !== undefined)
    await replication.peers.introduce(context.headers.get(PEER_NODE) ?? '', context.signal)
  const record = believed()
  // One of no version is about a copy too many, and beats none.
  if (record === undefined && version > 0) throw unsignedDelete(id)
  try {
    await work.write(async () => await own.remove(id, { version, record, isAgreed: false }), context)
    return empty(204)
  } catch (error) {
    return olderCopy(error, context.corrId)
  }
}

interface PutExpectation {
  readonly expected?: Address
  readonly owner?: string | undefined
}

async function putObject(
  parts: StorageParts,
  context: PutContext,
  path: string,
  wanted: PutExpectation,
): Promise<IngressResponse> {
  const { runtime, events } = parts
  const beganAt = runtime.clock.now()
  const result = await storeBody(parts, context, wanted)
  const { address, size, isNew, copies } = result
  runtime.metrics.observe('storage_put_latency_seconds', (runtime.clock.now() - beganAt) / 1000, { route: path })
  runtime.metrics.count('bytes_in_total', { route: path }, size)
  events.publish({ topic: 'storage.ingest', body: { address, new: isNew, bytes: size, corr_id: context.corrId } })
  const headers = ['Location', `/o/${address}`, 'ETag', `"${address}"`, ...copiesHeader(copies)]
  return json(isNew ? 201 : 200, { address, size, new: isNew }, headers)
}

async function storeBody(
  { writer, work, config }: StorageParts,
  context: PutContext,
  { expected, owner }: PutExpectation,
): Promise<ObjectPutResult> {
  const { chunk_size: chunkSize, limits } = config()
  const type = rememberedType(context.headers.get('content-type'))
  const owners = owner === undefined ? [] : [owner]
  const request = { type, chunkSize, expected, owners, upload: context.corrId }
  const { stream, body } = context
  if (stream === undefined) {
    // All of it is here: what is not what it says is refused before any of it is stored.
    const actual = expected === undefined ? undefined : addressOf(body)
    if (expected !== undefined && actual !== undefined && actual !== expected) throw otherBytes(expected, actual)
    const whole = { chunks: cutWhole(body, chunkSize), whole: body }
    return await work.write(async () => await writer.put({ ...request, ...whole }), context)
  }
  const declared = Number(context.headers.get('content-length') ?? 0)
  if (declared > limits.max_object_bytes) throw objectTooLarge(limits.max_object_bytes)
  // A stream takes as long as its client does, so it is not a worker's job; it counts against `max_streams`.
  return await writer.put({ ...request, chunks: cutStream(stream, chunkSize, limits.max_object_bytes) })
}
