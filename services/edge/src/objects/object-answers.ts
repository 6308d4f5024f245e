/**
 * Objects by address: from memory, from the cache, from this node's storage, or from whoever has them.
 *
 *     memory ─▶ cache ─▶ storage of this node (handed through, not kept) ─▶ a fill from providers, each chunk proved
 */
import type { CallContext, StorageClient } from '@cairn/clients'
import { isSelective } from '@cairn/http'
import { type CairnError, Deadline, isKind, type Runtime } from '@cairn/kernel'
import type { IncomingResponse, IngressResponse } from '@cairn/transport'
import { type Address, entityTagOf } from '@cairn/wire'
import { HotBytes } from '../answers/hot-bytes.ts'
import {
  collect,
  countOut,
  type EdgeRequestContext,
  frozen,
  inMemory,
  isMultiple,
  type Representation,
  type Serving,
  serve,
  unsatisfiable,
} from '../answers/serve.ts'
import type { Cas } from '../cas/cas.ts'
import type { StoredBody } from '../cas/entry.ts'
import type { EdgeConfig } from '../config.ts'
import { noSuchObject, preconditionFailed } from '../errors.ts'
import type { FillState, Growth } from '../fill/fill.ts'
import { type Fills, isFinal, type Joined } from '../fill/fills.ts'
import { objectKey, type ProviderFills } from './provider-fills.ts'

/** Objects no larger than this are kept in memory for a moment. */
const HOT_BYTES_MAX = 64 * 1024
/** Long enough to spare the storage a crowd, short enough that what it deletes is soon gone here too. */
const HOT_MS = 5_000
/** A body may take as long as its reader; the storage's own limits and the client's still hold. */
const BODY_MS = 3_600_000

export interface ObjectDependencies {
  readonly runtime: Runtime
  readonly config: () => EdgeConfig
  readonly storage: StorageClient | undefined
  readonly cas: Cas
  readonly fills: Fills
  readonly providers: ProviderFills | undefined
}

/** How an object is presented: the same bytes are an asset under their address and a page under a name. */
export interface RepresentationHeaders {
  readonly route: string
  /** 200, or 404 for the page that says so. */
  readonly status: number
  /** What is said of the type; nothing leaves it to whoever stored the object. */
  readonly type: string | undefined
  /** Caching, safety and whatever else the route adds; the tag is added. */
  readonly headers: readonly string[]
}

interface HotObject {
  readonly bytes: Uint8Array
  readonly type: string | undefined
  readonly disposition: string | undefined
  /** The answer to a request that says nothing else, as it was last dressed. */
  plain?: { readonly representation: RepresentationHeaders; readonly answer: IngressResponse }
}

/** What is known of whoever waits for bytes. */
type WaitingRequest = Pick<EdgeRequestContext, 'corrId' | 'deadline' | 'signal'>

const FROM_MEMORY = { kind: 'memory' }

export class ObjectAnswers {
  readonly #dependencies: ObjectDependencies
  readonly #hot: HotBytes<HotObject>

  constructor(around: ObjectDependencies) {
    this.#dependencies = around
    this.#hot = new HotBytes(around.runtime.clock, around.config().cas_cache_bytes, HOT_MS)
  }

  /** At once where the object is in memory. */
  answer(
    context: EdgeRequestContext,
    id: Address,
    representation: RepresentationHeaders,
  ): IngressResponse | Promise<IngressResponse> {
    const hot = this.#hot.get(id)
    if (hot !== undefined) return this.#fromMemory(context, id, hot, representation)
    return this.#find(context, id, representation)
  }

  /** All of a small object: a directory, say. `TooLarge` past the bound. */
  async bytes(context: WaitingRequest, id: Address, bytesMax: number): Promise<Uint8Array> {
    const hot = this.#hot.get(id)
    if (hot !== undefined) return hot.bytes
    const [entry] = this.#dependencies.cas.entriesOf(objectKey(id))
    if (entry !== undefined) return await collect(this.#readStored(entry.body), bytesMax)
    const fromStorage = await this.#storedBytes(context, id, bytesMax)
    if (fromStorage !== undefined) return fromStorage
    using joined = this.#joinProviders(context, id)
    const state = await joined.fill.state.until(isFinal, { signal: context.signal })
    if (state.tag === 'stored') return await collect(this.#readStored(state.entry.body), bytesMax)
    if (state.tag === 'unkept') return await collect(state.growth.body.read(context.signal), bytesMax)
    throw failureOf(state, id)
  }

  async #storedBytes(context: WaitingRequest, id: Address, bytesMax: number): Promise<Uint8Array | undefined> {
    try {
      return await this.#dependencies.storage?.get(id, bytesMax, this.#callContext(context))
    } catch (error) {
      if (isKind(error, 'NotFound')) return undefined
      throw error
    }
  }

  async #find(
    context: EdgeRequestContext,
    id: Address,
    representation: RepresentationHeaders,
  ): Promise<IngressResponse> {
    const { cas, runtime, storage } = this.#dependencies
    const [entry] = cas.entriesOf(objectKey(id))
    if (entry !== undefined) {
      cas.touch(entry)
      runtime.metrics.count('edge_cache_hits_total', { kind: 'cas' })
      return serve(context, this.#stored(entry.body, representation), this.#serving(representation))
    }
    if (storage !== undefined) {
      const answer = await this.#fromStorage(context, storage, id, representation)
      if (answer !== undefined) return answer
    }
    return await this.#fromProviders(context, id, representation)
  }

  #fromMemory(
    context: EdgeRequestContext,
    id: Address,
    hot: HotObject,
    representation: RepresentationHeaders,
  ): IngressResponse {
    const { metrics } = this.#dependencies.runtime
    metrics.count('edge_cache_hits_total', FROM_MEMORY)
    const isPlain = context.method === 'GET' && !isSelective(context.headers)
    if (isPlain && hot.plain?.representation === representation) {
      countOut(metrics, representation.route, hot.bytes.length)
      return hot.plain.answer
    }
    const { bytes, type, disposition } = hot
    const isTyped = representation.type !== undefined
    const extra = !isTyped && disposition !== undefined ? ['Content-Disposition', disposition] : []
    const what = {
      ...this.#represent(id, representation, extra),
      type: representation.type ?? type,
      ...inMemory(bytes),
    }
    const answer = serve(context, what, this.#serving(representation))
    if (isPlain) hot.plain = { representation, answer: frozen(answer) }
    return answer
  }

  /** The storage decides about conditions and ranges; its tag is ours. */
  async #fromStorage(
    context: EdgeRequestContext,
    storage: StorageClient,
    id: Address,
    representation: RepresentationHeaders,
  ): Promise<IngressResponse | undefined> {
    const { metrics } = this.#dependencies.runtime
    const { headers } = context
    if (isMultiple(headers.slot('range')) && !this.#dependencies.config().http.enable_multi_range)
      return unsatisfiable(context, undefined, { metrics }, 'One range at a time is answered here.')
    const asked = conditionsOf(context, representation)
    const response = await storage.open(id, asked, this.#callContext(context))
    if (response.status === 404) {
      response.body.cancel()
      return undefined
    }
    metrics.count('edge_cache_hits_total', { kind: 'storage' })
    if (response.status === 412) {
      response.body.cancel()
      throw preconditionFailed()
    }
    if (response.status === 416) {
      response.body.cancel()
      const size = Number(response.headers['content-range']?.split('/')[1] ?? Number.NaN)
      const detail = 'None of the bytes is in the range.'
      return unsatisfiable(context, Number.isNaN(size) ? undefined : size, { metrics }, detail)
    }
    return await this.#handThrough(context, id, representation, response)
  }

  async #handThrough(
    context: EdgeRequestContext,
    id: Address,
    representation: RepresentationHeaders,
    response: IncomingResponse,
  ): Promise<IngressResponse> {
    const { status, headers, body } = response
    const { 'content-type': type, 'content-disposition': disposition, 'content-length': length } = headers
    if (status === 200 && context.method === 'GET' && Number(length ?? Infinity) <= HOT_BYTES_MAX) {
      const bytes = await collect(body, HOT_BYTES_MAX)
      this.#hot.set(id, { bytes, type, disposition }, bytes.length)
      return this.#fromMemory(context, id, { bytes, type, disposition }, representation)
    }
    const { headers: own } = this.#represent(id, representation, [])
    if (status === 304) return { status: 304, headers: own }
    const { metrics } = this.#dependencies.runtime
    if (status === 206) metrics.count('edge_range_requests_total', { result: '206' })
    metrics.count('edge_bytes_out_total', { route: representation.route }, Number(length ?? 0))
    const isParts = type?.startsWith('multipart/byteranges') === true
    const told = ['Content-Type', isParts ? type : (representation.type ?? type ?? 'application/octet-stream')]
    if (headers['content-range'] !== undefined) told.push('Content-Range', headers['content-range'])
    if (length !== undefined) told.push('Content-Length', length)
    if (representation.type === undefined && disposition !== undefined) told.push('Content-Disposition', disposition)
    if (context.method === 'HEAD') body.cancel()
    const shown = status === 200 ? representation.status : status
    return { status: shown, headers: [...own, ...told], ...(context.method === 'HEAD' ? {} : { body }) }
  }

  #joinProviders({ deadline }: WaitingRequest, id: Address): Joined {
    const { fills, providers } = this.#dependencies
    if (providers === undefined) throw noSuchObject(id)
    return fills.join({ key: objectKey(id), route: 'b3', work: providers.work(id) }, deadline.remaining())
  }

  async #fromProviders(
    context: EdgeRequestContext,
    id: Address,
    representation: RepresentationHeaders,
  ): Promise<IngressResponse> {
    const joined = this.#joinProviders(context, id)
    this.#dependencies.runtime.metrics.count('edge_cache_misses_total', { cause: 'cold' })
    try {
      const { headers, signal } = context
      const isWaitingForEnd = ['range', 'if-none-match', 'if-match'].some((name) => headers.get(name) !== undefined)
      const isReady = (state: FillState): boolean => (isWaitingForEnd ? isFinal(state) : state.tag !== 'asking')
      const state = await joined.fill.state.until(isReady, { signal })
      if (state.tag === 'growing' || state.tag === 'unkept')
        return this.#readAlong(context, joined, id, state.growth, representation)
      joined[Symbol.dispose]()
      if (state.tag === 'stored')
        return serve(context, this.#stored(state.entry.body, representation), this.#serving(representation))
      throw failureOf(state, id)
    } catch (error) {
      joined[Symbol.dispose]()
      throw error
    }
  }

  #readAlong(
    context: EdgeRequestContext,
    joined: Joined,
    id: Address,
    growth: Growth,
    representation: RepresentationHeaders,
  ): IngressResponse {
    const { body, length } = growth
    const { headers } = this.#represent(id, representation, representation.type === undefined ? DOWNLOAD : [])
    const told = [...headers, 'Content-Type', representation.type ?? OCTETS]
    if (length !== undefined) told.push('Content-Length', String(length))
    if (context.method === 'HEAD') {
      joined[Symbol.dispose]()
      return { status: representation.status, headers: told }
    }
    const read = async function* (): AsyncGenerator<Uint8Array> {
      try {
        yield* body.read(context.signal)
      } finally {
        joined[Symbol.dispose]()
      }
    }
    return { status: representation.status, headers: told, body: read() }
  }

  /** Nobody told the type of what providers sent. */
  #stored(body: StoredBody, representation: RepresentationHeaders): Representation {
    const { cas } = this.#dependencies
    return {
      ...this.#represent(body.address, representation, representation.type === undefined ? DOWNLOAD : []),
      type: representation.type ?? OCTETS,
      size: body.size,
      whole: () => {
        const held = cas.hot(body)
        return held === undefined ? undefined : { bytes: held.bytes, held }
      },
      read: (range) => cas.read(body, range),
    }
  }

  #readStored(body: StoredBody): AsyncIterable<Uint8Array> {
    return this.#dependencies.cas.read(body, { first: 0, last: body.size - 1 })
  }

  #represent(id: Address, representation: RepresentationHeaders, extra: readonly string[]) {
    const etag = entityTagOf(id)
    const headers = ['ETag', etag, 'Accept-Ranges', 'bytes', ...representation.headers, ...extra]
    return { status: representation.status, etag, headers, cachingHeaders: headers }
  }

  #serving({ route }: RepresentationHeaders): Serving {
    const { clock, metrics } = this.#dependencies.runtime
    return { metrics, nowMs: clock.wall(), multiRange: this.#dependencies.config().http.enable_multi_range, route }
  }

  #callContext({ corrId, signal }: WaitingRequest): CallContext {
    return { deadline: Deadline.after(this.#dependencies.runtime.clock, BODY_MS), corrId, signal }
  }
}

const OCTETS = 'application/octet-stream'
const DOWNLOAD: readonly string[] = ['Content-Disposition', 'attachment']

const CONDITIONS = [
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
] as const

function conditionsOf(
  { headers, method }: EdgeRequestContext,
  { status }: RepresentationHeaders,
): Record<string, string> {
  if (status !== 200) return {}
  const asked: Record<string, string> = {}
  for (const name of CONDITIONS) {
    const value = headers.slot(name)
    // A range of a HEAD is none.
    if (value !== undefined && !(method === 'HEAD' && name === 'range')) asked[name] = value
  }
  return asked
}

function failureOf(state: FillState, id: Address): CairnError {
  return state.tag === 'failed' ? state.error : noSuchObject(id)
}
