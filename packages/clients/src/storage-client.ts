/**
 * Objects, their references and their chunks, as another service asks for them. Whatever comes back has been held
 * against its address: a client of this interface never sees a byte that is not the object's.
 */
import { CairnError, isKind } from '@cairn/kernel'
import type { IncomingResponse } from '@cairn/transport'
import {
  type Address,
  addressOf,
  decodeManifest,
  encodeManifest,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseAddress,
  parseJson,
} from '@cairn/wire'
import type { Call, CallContext, Caller } from './caller.ts'
import { amount, badAnswer, bytesUpTo, objectOf, readNothing, readObject, texts } from './response-body.ts'
import { followEvents, type ReceivedEvent } from './server-events.ts'

export interface PutReceipt {
  readonly address: Address
  readonly size: number
  /** It was not there before. */
  readonly isNew: boolean
}

export interface AddressPage {
  readonly addresses: readonly Address[]
  readonly cursor: Address | undefined
}

/** What became of a hold on a tree, or of its end. */
export interface TreeHold {
  readonly objects: number
  /** Holds that were written, or ended. */
  readonly changed: number
  readonly missing: number
  /** Some of those. */
  readonly missingAddresses: readonly Address[]
}

export interface StorageClient {
  /** Stores up to 1 MiB. */
  put(bytes: Uint8Array, type: string, context: CallContext): Promise<PutReceipt>
  /** The same, and keeps it for `owner` in one durable step. */
  putHeld(owner: string, bytes: Uint8Array, type: string, context: CallContext): Promise<PutReceipt>
  /** The whole object, proved; one of more than `bytesMax` is `TooLarge`. */
  get(address: Address, bytesMax: number, context: CallContext): Promise<Uint8Array>
  /** Whether that very node has a copy: what it would have to ask others for, it has not. */
  has(address: Address, context: CallContext): Promise<boolean>
  /** Up to 1000 addresses of objects after `cursor`, in order, and the cursor of the next page; none after the last. */
  list(cursor: Address | undefined, context: CallContext): Promise<AddressPage>
  /**
   * The answer to a read with these conditions and ranges, as it comes: 200, 206, 304, 404, 412 or 416. The storage
   * proves the bytes it sends; its body must be read to its end or canceled.
   */
  open(address: Address, headers: Readonly<Record<string, string>>, context: CallContext): Promise<IncomingResponse>
  /** Drops the object. */
  remove(address: Address, context: CallContext): Promise<void>
  /** Keeps the object from being deleted for as long as the owner holds it. */
  hold(owner: string, address: Address, context: CallContext): Promise<void>
  release(owner: string, address: Address, context: CallContext): Promise<void>
  /** Holds a directory and everything below it, as far as it is there; what the owner holds already costs no write. */
  holdTree(owner: string, root: Address, context: CallContext): Promise<TreeHold>
  /** Releases a directory and everything below it, but for what these other trees have too. */
  releaseTree(owner: string, root: Address, keep: readonly Address[], context: CallContext): Promise<TreeHold>
  /** The manifest, proved against the address; undefined for an object of one chunk, which has none. */
  manifest(address: Address, context: CallContext): Promise<Manifest | undefined>
  /** One chunk by its own hash, proved. */
  chunk(id: Address, context: CallContext): Promise<Uint8Array>
  /** Which of up to 8192 chunks are not there; the others are kept for the upload. */
  missing(ids: readonly Address[], upload: string, context: CallContext): Promise<readonly Address[]>
  putChunk(id: Address, bytes: Uint8Array, upload: string, context: CallContext): Promise<void>
  /** Makes the object of these chunks visible; `Conflict` with the code `missing_chunks` if some are not there. */
  commit(manifest: Manifest, type: string, upload: string, context: CallContext): Promise<void>
  /** What happens there from now on, such as `storage.ingest`; `onOpen` hears when the first connection listens. */
  events(context: CallContext, onOpen: () => void): AsyncGenerator<ReceivedEvent>
}

const CHUNK_BYTES_MAX = 1024 * 1024
/** 8192 addresses, quoted. */
const ANSWER_BYTES_MAX = 1024 * 1024

/** The client over HTTP or in process: the caller's transport decides. */
export function storageClient(caller: Caller): StorageClient {
  return { ...objectCalls(caller), ...referenceCalls(caller), ...chunkCalls(caller) }
}

const PAGE_OBJECTS = 1000

async function readPage(response: IncomingResponse): Promise<AddressPage> {
  const { objects, cursor } = await readObject(response, ANSWER_BYTES_MAX)
  if (!Array.isArray(objects)) throw badAnswer('has no list of objects')
  const addresses = objects.map((row: unknown) => {
    const address: unknown = typeof row === 'object' && row !== null && 'address' in row ? row.address : undefined
    return parseAddress(String(address))
  })
  return { addresses, cursor: typeof cursor === 'string' ? parseAddress(cursor) : undefined }
}

/** The last line counts; without one that says so it broke off. */
async function readTreeHold({ body }: IncomingResponse): Promise<TreeHold> {
  const text = new TextDecoder()
  let [line, last] = ['', '']
  for await (const piece of body) {
    const lines = (line + text.decode(piece, { stream: true })).split('\n')
    line = lines.pop() ?? ''
    last = lines.at(-1) ?? last
    if (line.length > ANSWER_BYTES_MAX) throw badAnswer('has a line without an end')
  }
  const fields = objectOf(last === '' ? undefined : parseJson(new TextEncoder().encode(last)))
  if (fields['done'] !== true) throw badAnswer('broke off')
  const [objects, changed, missing] = [amount(fields, 'objects'), amount(fields, 'changed'), amount(fields, 'missing')]
  return { objects, changed, missing, missingAddresses: texts(fields, 'missing_addresses').map(parseAddress) }
}

type ObjectCalls = Pick<StorageClient, 'put' | 'putHeld' | 'get' | 'open' | 'has' | 'list' | 'remove'>

function objectCalls(caller: Caller): ObjectCalls {
  return {
    put: async (bytes, type, context) => {
      const address = addressOf(bytes)
      return await caller.call(putting('put', `o/${address}`, { address, bytes, type }), context)
    },
    putHeld: async (owner, bytes, type, context) => {
      const address = addressOf(bytes)
      const path = `o/${address}?hold=${encodeURIComponent(owner)}`
      return await caller.call(putting('put_held', path, { address, bytes, type }), context)
    },
    get: async (address, bytesMax, context) => {
      const bytes = await caller.call({ ...reading('get', `o/${address}`), read: bytesUpTo(bytesMax) }, context)
      return proved(bytes, address)
    },
    has: async (address, context) => {
      const call: Call<boolean> = {
        ...reading('has', `copies/${address}`),
        scope: 'storage:admin',
        answers: [404],
        read: async (response) => {
          // All of it: a body that is left unread costs its connection.
          await readObject(response, ANSWER_BYTES_MAX)
          return response.status < 400
        },
      }
      return await caller.call(call, context)
    },
    list: async (cursor, context) => {
      const path = `admin/objects?limit=${PAGE_OBJECTS}${cursor === undefined ? '' : `&cursor=${cursor}`}`
      return await caller.call({ ...reading('list', path), scope: 'storage:admin', read: readPage }, context)
    },
    open: async (address, headers, context) => {
      const call = { ...reading('open', `o/${address}`), headers, answers: OPEN_ANSWERS }
      return await caller.call({ ...call, read: async (response) => await Promise.resolve(response) }, context)
    },
    // Not repeated: after one that went through unheard, a second would find nothing.
    remove: async (address, context) =>
      await caller.call(
        {
          operation: 'remove',
          method: 'DELETE',
          path: `o/${address}`,
          idempotent: false,
          scope: 'storage:delete',
          read: readNothing,
        },
        context,
      ),
  }
}

type ReferenceCalls = Pick<StorageClient, 'hold' | 'release' | 'holdTree' | 'releaseTree'>

function referenceCalls(caller: Caller): ReferenceCalls {
  const reference = async (method: 'PUT' | 'DELETE', owner: string, address: Address, context: CallContext) =>
    await caller.call(
      {
        operation: method === 'PUT' ? 'hold' : 'release',
        method,
        path: `refs/${encodeURIComponent(owner)}/${address}`,
        idempotent: true,
        scope: 'storage:hold',
        read: readNothing,
      },
      context,
    )
  const tree = async (method: 'PUT' | 'DELETE', path: string, context: CallContext): Promise<TreeHold> =>
    await caller.call(
      {
        operation: method === 'PUT' ? 'hold_tree' : 'release_tree',
        method,
        path: `refs/${path}`,
        idempotent: true,
        scope: 'storage:hold',
        read: readTreeHold,
      },
      context,
    )
  return {
    hold: async (owner, address, context) => await reference('PUT', owner, address, context),
    release: async (owner, address, context) => await reference('DELETE', owner, address, context),
    holdTree: async (owner, root, context) => await tree('PUT', `${encodeURIComponent(owner)}/${root}?tree`, context),
    releaseTree: async (owner, root, keep, context) =>
      await tree('DELETE', `${encodeURIComponent(owner)}/${root}?tree&keep=${keep.join(',')}`, context),
  }
}

function chunkCalls(caller: Caller): Omit<StorageClient, keyof ObjectCalls | keyof ReferenceCalls> {
  return {
    manifest: async (address, context) => {
      try {
        const read = bytesUpTo(MAX_MANIFEST_BYTES)
        return decodeManifest(await caller.call({ ...reading('manifest', `m/${address}`), read }, context), address)
      } catch (error) {
        if (isKind(error, 'NotFound') && error.code === 'single_chunk') return undefined
        throw error
      }
    },
    chunk: async (id, context) => {
      const read = bytesUpTo(CHUNK_BYTES_MAX)
      return proved(await caller.call({ ...reading('chunk', `c/${id}`), read }, context), id)
    },
    missing: async (ids, upload, context) =>
      await caller.call(
        {
          ...writing('missing', `c/missing?upload=${encodeURIComponent(upload)}`, json({ ids }), 'application/json'),
          method: 'POST',
          read: async (response) => {
            const { missing } = await readObject(response, ANSWER_BYTES_MAX)
            if (!Array.isArray(missing)) throw badAnswer('has no list of missing chunks')
            const told = new Set<unknown>(missing)
            return ids.filter((id) => told.has(id))
          },
        },
        context,
      ),
    putChunk: async (id, bytes, upload, context) =>
      await caller.call(
        { ...writing('put_chunk', `c/${id}?upload=${encodeURIComponent(upload)}`, bytes, OCTETS), read: readNothing },
        context,
      ),
    commit: async (manifest, type, upload, context) => {
      const path = `m/${manifest.id}?upload=${encodeURIComponent(upload)}`
      const common = writing('commit', path, encodeManifest(manifest), OCTETS)
      const headers = { ...common.headers, 'x-object-type': type }
      await caller.call({ ...common, headers, read: readNothing }, context)
    },
    events: (context, onOpen) => followEvents(caller, context, onOpen),
  }
}

/** What a reader of parts makes sense of himself. */
const OPEN_ANSWERS: readonly number[] = [404, 412, 416]

const OCTETS = 'application/octet-stream'

function reading(operation: string, path: string) {
  return { operation, path, method: 'GET', idempotent: true } as const
}

function writing(operation: string, path: string, body: Uint8Array, type: string) {
  const headers: Readonly<Record<string, string>> = { 'content-type': type }
  return { operation, path, method: 'PUT', idempotent: true, scope: 'storage:write', headers, body } as const
}

interface Put {
  readonly address: Address
  readonly bytes: Uint8Array
  readonly type: string
}

function putting(operation: string, path: string, { address, bytes, type }: Put): Call<PutReceipt> {
  return {
    ...writing(operation, path, bytes, type),
    read: async (response) => {
      const { address: told, new: isNew } = await readObject(response, ANSWER_BYTES_MAX)
      if (told !== address) throw badAnswer('is about another object')
      return { address, size: bytes.length, isNew: isNew === true }
    },
  }
}

function proved(bytes: Uint8Array, address: Address): Uint8Array {
  if (addressOf(bytes) === address) return bytes
  throw new CairnError('Integrity', `The bytes that came are not those of ${address}.`)
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value))
}
