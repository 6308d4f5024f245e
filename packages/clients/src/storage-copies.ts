/**
 * The calls between nodes that hold copies together. All need `storage:peer`, those of chunks `storage:write` too, and concern the called node's own drives
 * alone: it forwards none of them.
 */
import {
  type Address,
  decodeManifest,
  encodeManifest,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseAddress,
} from '@cairn/wire'
import type { Call, CallContext, Caller } from './caller.ts'
import { badAnswer, bytesUpTo, readNothing, readObject } from './response-body.ts'

/** What is known of one object over there. */
export type RemoteCopy =
  | { readonly tag: 'absent'; readonly isPartial?: true }
  | {
      readonly tag: 'object'
      readonly version: number
      readonly isProved: boolean
      /** The owners that hold it there; absent if there are none. */
      readonly owners?: readonly string[]
    }
  | {
      readonly tag: 'tombstone'
      readonly version: number
      /** The signed statement it shows, unverified. */
      readonly record?: string
    }

export interface RemoteFacts {
  readonly size: number
  readonly type: string
  readonly chunkSize: number
  readonly version: number
  readonly owners: readonly string[]
}

export interface RemoteRow {
  readonly address: Address
  readonly copy: Exclude<RemoteCopy, { tag: 'absent' }>
}

export interface SentCopy {
  readonly address: Address
  readonly type: string
  readonly version: number
  readonly owners: readonly string[]
}

export interface SentDelete {
  readonly version: number
  readonly isAgreed: boolean
  /** The signed statement that says so. */
  readonly record: string | undefined
}

export interface RemoteKnowledge {
  readonly node: string
  /** The public key it says it signs with; absent from one of version 0.1. */
  readonly key: string | undefined
  /** The highest version that node has issued or heard of. */
  readonly version: number
  readonly copies: readonly RemoteCopy[]
}

export interface CopyClient {
  /** What is known of each, in order, and what the node calls itself. */
  known(ids: readonly Address[], context: CallContext): Promise<RemoteKnowledge>
  page(after: Address | undefined, limit: number, context: CallContext): Promise<readonly RemoteRow[]>
  /** `NotFound` if there is no copy. */
  stat(address: Address, context: CallContext): Promise<RemoteFacts>
  /** Proved by the address. */
  manifest(address: Address, context: CallContext): Promise<Manifest>
  /** Returns the chunk unverified: the caller checks it against its address. */
  chunk(id: Address, context: CallContext): Promise<Uint8Array>
  missing(ids: readonly Address[], place: RemoteChunkPlace, context: CallContext): Promise<readonly Address[]>
  /** One chunk; whether it was new. `Conflict` when the bytes are not what the id says. */
  putChunk(id: Address, bytes: Uint8Array, upload: string, context: CallContext): Promise<boolean>
  /** Whether there was one. */
  removeChunk(id: Address, context: CallContext): Promise<boolean>
  listChunks(after: Address | undefined, limit: number, context: CallContext): Promise<readonly Address[]>
  /** Up to 64 MiB together. */
  putChunks(chunks: readonly Uint8Array[], place: RemoteChunkPlace, context: CallContext): Promise<void>
  /** Whether it was new. */
  commit(copy: SentCopy & { manifest: Manifest; upload: string }, context: CallContext): Promise<boolean>
  put(copy: SentCopy & { bytes: Uint8Array; chunkSize: number }, context: CallContext): Promise<boolean>
  remove(address: Address, deletion: SentDelete, context: CallContext): Promise<void>
  hold(owner: string, address: Address, context: CallContext): Promise<void>
  release(owner: string, address: Address, context: CallContext): Promise<void>
}

/** The object chunks are for, and the upload that keeps them until it is there. */
export interface RemoteChunkPlace {
  readonly object: Address
  readonly upload: string
}

const CHUNK_BYTES_MAX = 1024 * 1024
const ANSWER_BYTES_MAX = 4 * 1024 * 1024
const OCTETS = 'application/octet-stream'

/** `headers` go with every request: who asks. */
export function copyClient(caller: Caller, headers: () => Readonly<Record<string, string>>): CopyClient {
  const ask = async <T>(
    call: Pick<Call<T>, 'operation' | 'method' | 'path' | 'read' | 'body' | 'headers' | 'answers'>,
    context: CallContext,
  ) =>
    await caller.call<T>(
      { ...call, idempotent: true, scope: 'storage:peer', headers: { ...headers(), ...call.headers } },
      context,
    )
  return { ...copyReads(ask), ...copyWrites(ask) }
}

type CopyCall = <T>(
  call: Pick<Call<T>, 'operation' | 'method' | 'path' | 'read' | 'body' | 'headers' | 'answers'>,
  context: CallContext,
) => Promise<T>

type CopyReads = Pick<CopyClient, 'known' | 'page' | 'stat' | 'manifest' | 'chunk'>

function copyReads(ask: CopyCall): CopyReads {
  return {
    known: async (ids, context) => {
      const call = { operation: 'known', method: 'POST', path: 'copies/known', ...json({ ids }) } as const
      return await ask(
        { ...call, read: async (response) => readKnown(await readObject(response, ANSWER_BYTES_MAX), ids.length) },
        context,
      )
    },
    page: async (after, limit, context) => {
      const path = `copies?limit=${limit}${after === undefined ? '' : `&after=${after}`}`
      const read = async (response: Parameters<typeof readObject>[0]): Promise<RemoteRow[]> => {
        const { copies } = await readObject(response, ANSWER_BYTES_MAX)
        return arrayIn(copies).map(rowOf)
      }
      return await ask({ operation: 'copies', method: 'GET', path, read }, context)
    },
    stat: async (address, context) => {
      const read = async (response: Parameters<typeof readObject>[0]): Promise<RemoteFacts> =>
        factsOf(await readObject(response, ANSWER_BYTES_MAX))
      return await ask({ operation: 'copy', method: 'GET', path: `copies/${address}`, read }, context)
    },
    manifest: async (address, context) => {
      const call = { operation: 'manifest', method: 'GET', path: `m/${address}?copy` } as const
      return decodeManifest(await ask({ ...call, read: bytesUpTo(MAX_MANIFEST_BYTES) }, context), address)
    },
    chunk: async (id, context) =>
      await ask({ operation: 'chunk', method: 'GET', path: `c/${id}`, read: bytesUpTo(CHUNK_BYTES_MAX) }, context),
  }
}

function copyWrites(ask: CopyCall): Omit<CopyClient, keyof CopyReads> {
  const reference = async (method: 'PUT' | 'DELETE', owner: string, address: Address, context: CallContext) => {
    const path = `refs/${encodeURIComponent(owner)}/${address}?copy`
    await ask({ operation: method === 'PUT' ? 'hold' : 'release', method, path, read: readNothing }, context)
  }
  return {
    missing: async (ids, place, context) => {
      const call = {
        operation: 'missing',
        method: 'POST',
        path: `c/missing?${placeText(place)}`,
        ...json({ ids }),
      } as const
      const read = async (response: Parameters<typeof readObject>[0]): Promise<Address[]> => {
        const told = new Set<unknown>(arrayIn((await readObject(response, ANSWER_BYTES_MAX))['missing']))
        return ids.filter((id) => told.has(id))
      }
      return await ask({ ...call, read }, context)
    },
    putChunk: async (id, bytes, upload, context) => {
      const path = `c/${id}?${new URLSearchParams({ upload }).toString()}`
      return await ask({ operation: 'put_chunk', method: 'PUT', path, ...octets(bytes), read: readNew }, context)
    },
    removeChunk: async (id, context) => {
      const call = { operation: 'remove_chunk', method: 'DELETE', path: `c/${id}`, answers: [404] } as const
      const read = async (response: Parameters<typeof readNothing>[0]): Promise<boolean> => {
        await readNothing(response)
        return response.status < 400
      }
      return await ask({ ...call, read }, context)
    },
    listChunks: async (after, limit, context) => {
      const path = `c?limit=${limit}${after === undefined ? '' : `&after=${after}`}`
      const read = async (response: Parameters<typeof readObject>[0]): Promise<Address[]> =>
        arrayIn((await readObject(response, ANSWER_BYTES_MAX))['chunks']).map((id) => parseAddress(String(id)))
      return await ask({ operation: 'list_chunks', method: 'GET', path, read }, context)
    },
    putChunks: async (chunks, place, context) => {
      const call = { operation: 'put_chunks', method: 'POST', path: `c?${placeText(place)}` } as const
      await ask({ ...call, ...octets(framed(chunks)), read: readNothing }, context)
    },
    commit: async ({ manifest, upload, ...copy }, context) => {
      const path = `m/${copy.address}?${placeText({ object: copy.address, upload })}&${copyText(copy)}`
      const { body, headers } = octets(encodeManifest(manifest))
      const sent = { ...headers, 'x-object-type': copy.type }
      return await ask({ operation: 'commit', method: 'PUT', path, body, headers: sent, read: readNew }, context)
    },
    put: async ({ bytes, chunkSize, ...copy }, context) => {
      const path = `o/${copy.address}?${copyText(copy)}&chunk_size=${chunkSize}`
      const headers = { 'content-type': copy.type }
      return await ask({ operation: 'put', method: 'PUT', path, body: bytes, headers, read: readNew }, context)
    },
    remove: async (address, { version, isAgreed, record }, context) => {
      const path = `o/${address}?copy=${version}${isAgreed ? '&agreed' : ''}`
      const headers = record === undefined ? {} : { 'x-cairn-statement': record }
      await ask({ operation: 'remove', method: 'DELETE', path, headers, read: readNothing }, context)
    },
    hold: async (owner, address, context) => await reference('PUT', owner, address, context),
    release: async (owner, address, context) => await reference('DELETE', owner, address, context),
  }
}

function copyText({ version, owners }: SentCopy): string {
  return new URLSearchParams({
    copy: String(version),
    ...(owners.length === 0 ? {} : { owners: owners.join(',') }),
  }).toString()
}

function placeText({ object, upload }: RemoteChunkPlace): string {
  return new URLSearchParams({ object, upload }).toString()
}

async function readNew(response: Parameters<typeof readObject>[0]): Promise<boolean> {
  return (await readObject(response, ANSWER_BYTES_MAX))['new'] === true
}

function readKnown({ node, key, version, copies: rows }: Record<string, unknown>, count: number): RemoteKnowledge {
  const copies = arrayIn(rows).map(copyOf)
  if (copies.length !== count) throw badAnswer('is not about what was asked')
  const told = typeof key === 'string' ? key : undefined
  return { node: String(node), key: told, version: isCount(version) ? version : 0, copies }
}

function rowOf(value: unknown): RemoteRow {
  const copy = copyOf(value)
  if (copy.tag === 'absent') throw badAnswer('lists what is absent')
  return { address: parseAddress(String(fieldsOf(value)['address'])), copy }
}

function copyOf(value: unknown): RemoteCopy {
  const { tag, version, proved, partial, owners, record } = fieldsOf(value)
  if (tag === 'absent') return partial === true ? { tag, isPartial: true } : { tag }
  if (!isCount(version)) throw badAnswer('has a copy without a version')
  if (tag === 'object') {
    const copy = { tag, version, isProved: proved === true } as const
    return owners === undefined ? copy : { ...copy, owners: arrayIn(owners).map(String) }
  }
  if (tag === 'tombstone') return typeof record === 'string' ? { tag, version, record } : { tag, version }
  throw badAnswer('has a copy of no known kind')
}

function factsOf({ size, type, chunk_size: chunkSize, version, owners }: Record<string, unknown>): RemoteFacts {
  if (!isCount(size) || typeof type !== 'string' || !isCount(chunkSize) || !isCount(version))
    throw badAnswer('does not describe a copy')
  return { size, type, chunkSize, version, owners: arrayIn(owners).map(String) }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function arrayIn(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw badAnswer('has no list')
  return value
}

function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function octets(body: Uint8Array): Pick<Call<unknown>, 'headers'> & { readonly body: Uint8Array } {
  return { body, headers: { 'content-type': OCTETS } }
}

function json(value: unknown): Pick<Call<unknown>, 'headers'> & { readonly body: Uint8Array } {
  return { body: new TextEncoder().encode(JSON.stringify(value)), headers: { 'content-type': 'application/json' } }
}

/** Each chunk behind its length: four bytes, the highest first. */
function framed(chunks: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + 4 + length, 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const chunk of chunks) {
    view.setUint32(at, chunk.length)
    bytes.set(chunk, at + 4)
    at += 4 + chunk.length
  }
  return bytes
}
