/** A pack as a file with ranges, as tiles, and as TileJSON. */

import { empty, isSelective } from '@cairn/http'
import { CairnError, type Runtime } from '@cairn/kernel'
import { FILE_REPLACED, type Inflate, openCoded } from '@cairn/platform'
import type { IngressResponse } from '@cairn/transport'
import { type Address, addressOf, entityTagOf } from '@cairn/wire'
import { HotBytes } from '../answers/hot-bytes.ts'
import { accepts, INERT } from '../answers/response-headers.ts'
import {
  countOut,
  type EdgeRequestContext,
  frozen,
  inMemory,
  type Representation,
  type Serving,
  serve,
} from '../answers/serve.ts'
import type { EdgeConfig } from '../config.ts'
import { inflatesTooFar, packReplaced, packUnusable } from '../errors.ts'
import type { PackTile, TileFacts } from './open-pack.ts'
import type { HeldPack, PackTable } from './pack-table.ts'

/** TileJSON 3.0.0 of a pack whose tiles are at `base/{z}/{x}/{y}`. */
function tileJson(facts: TileFacts, base: string): Readonly<Record<string, unknown>> {
  const { name, attribution, description, vectorLayers, minZoom, maxZoom, bounds, center, format } = facts
  return {
    tilejson: '3.0.0',
    tiles: [`${base}/{z}/{x}/{y}.${format}`],
    minzoom: minZoom,
    maxzoom: maxZoom,
    bounds,
    center,
    scheme: 'xyz',
    ...(name === undefined ? {} : { name }),
    ...(attribution === undefined ? {} : { attribution }),
    ...(description === undefined ? {} : { description }),
    ...(format === 'mvt' ? { vector_layers: vectorLayers ?? [] } : {}),
  }
}

const IMMUTABLE: readonly string[] = ['Cache-Control', 'public, max-age=31536000, immutable']
const FOR_NOW: readonly string[] = ['Cache-Control', 'public, max-age=300']
/** Tiles asked for again and again; an address of a pack never means another tile, so only room ends it. */
const TILE_MS = 60_000

/** Which pack, and whether it was asked for by its address. */
export interface PackRequest {
  readonly name: string
  readonly address: Address | undefined
}

interface HotTile {
  readonly bytes: Uint8Array
  readonly etag: string
  readonly coding: PackTile['coding']
  /** The answer to a request that says nothing else: under the pack's name, and under its address. */
  answers: { named?: IngressResponse; pinned?: IngressResponse }
}

const FROM_PACK = { kind: 'pack' }

export class PackAnswers {
  readonly #runtime: Runtime
  readonly #config: () => EdgeConfig
  readonly #packs: PackTable
  readonly #inflate: Inflate
  readonly #tiles: HotBytes<HotTile | 'missing'>

  constructor(runtime: Runtime, config: () => EdgeConfig, packs: PackTable, inflate: Inflate) {
    this.#runtime = runtime
    this.#config = config
    this.#packs = packs
    this.#inflate = inflate
    this.#tiles = new HotBytes(runtime.clock, config().cas_cache_bytes, TILE_MS)
  }

  /** The whole file, or ranges of it. */
  file(context: EdgeRequestContext, request: PackRequest): IngressResponse {
    const held = this.#packs.hold(request.name, request.address)
    const { pack } = held
    this.#runtime.metrics.count('edge_cache_hits_total', FROM_PACK)
    const headers = this.#headers(request, entityTagOf(pack.address))
    const what: Representation = {
      status: 200,
      size: pack.size,
      etag: entityTagOf(pack.address),
      type: pack.mediaType,
      headers: [...headers, 'Accept-Ranges', 'bytes', 'Content-Disposition', 'attachment'],
      cachingHeaders: headers,
      whole: () => undefined,
      read: (range) => keepOpen(held, pack.read(range, { signal: context.signal })),
    }
    try {
      const answer = serve(context, what, this.#serving())
      if (!isStreamed(answer)) held[Symbol.dispose]()
      return answer
    } catch (error) {
      held[Symbol.dispose]()
      throw error
    }
  }

  tile(
    context: EdgeRequestContext,
    request: PackRequest,
    place: { readonly z: number; readonly x: number; readonly y: number },
  ): IngressResponse | Promise<IngressResponse> {
    const seen = this.#packs.look(request.name, request.address)
    const key = `${seen.pack.address} ${place.z}/${place.x}/${place.y}`
    const hot = this.#tiles.get(key)
    if (hot !== undefined) return this.#tileAnswer(context, request, seen, hot, key)
    return this.#readTile(context, request, this.#packs.hold(request.name, request.address), place, key)
  }

  async #readTile(
    context: EdgeRequestContext,
    request: PackRequest,
    held: HeldPack,
    { z, x, y }: { readonly z: number; readonly x: number; readonly y: number },
    key: string,
  ): Promise<IngressResponse> {
    using _held = held
    let tile: PackTile | undefined
    try {
      tile = await held.pack.tile(z, x, y, { signal: context.signal })
    } catch (error) {
      if (error instanceof CairnError && error.code === FILE_REPLACED) {
        this.#packs.noteReplaced(request.name)
        throw packReplaced(request.name, error)
      }
      if (error instanceof CairnError && error.kind !== 'Internal') throw error
      throw packUnusable(request.name, error)
    }
    const { bytes, coding } = tile ?? { bytes: new Uint8Array(0), coding: undefined }
    const hot = tile === undefined ? 'missing' : { bytes, coding, etag: entityTagOf(addressOf(bytes)), answers: {} }
    this.#tiles.set(key, hot, bytes.length + 200)
    return await this.#tileAnswer(context, request, held, hot, key)
  }

  #tileAnswer(
    context: EdgeRequestContext,
    request: PackRequest,
    { pack, config }: Pick<HeldPack, 'pack' | 'config'>,
    tile: HotTile | 'missing',
    key: string,
  ): IngressResponse | Promise<IngressResponse> {
    if (tile === 'missing') {
      if (config.missing_tile === 404) throw new CairnError('NotFound', 'The pack has no such tile.')
      return empty(204, this.#headers(request, undefined))
    }
    this.#runtime.metrics.count('edge_cache_hits_total', FROM_PACK)
    const type = pack.facts.mediaType
    const { coding } = tile
    if (coding === undefined || accepts(context.headers.get('accept-encoding'), coding))
      return this.#bytes(context, request, tile, type, coding)
    const plainKey = `${key} plain`
    const plain = this.#tiles.get(plainKey)
    if (plain !== undefined && plain !== 'missing') return this.#bytes(context, request, plain, type, coding)
    return this.#plain(tile).then((opened) => {
      this.#tiles.set(plainKey, opened, opened.bytes.length + 200)
      return this.#bytes(context, request, opened, type, coding)
    })
  }

  async #plain({ bytes, coding }: HotTile): Promise<HotTile> {
    const { decompress_max_bytes: bytesMax, decompress_max_ratio: ratioMax } = this.#config().ingress
    if (coding === undefined) throw new CairnError('Internal', 'A tile without coding was to be decoded.')
    try {
      const plain = await openCoded(this.#inflate, coding, bytes, { bytesMax, ratioMax })
      return { bytes: plain, coding: undefined, etag: entityTagOf(addressOf(plain)), answers: {} }
    } catch (error) {
      if (error instanceof CairnError && error.kind === 'TooLarge') throw inflatesTooFar(bytesMax)
      throw new CairnError('Integrity', 'The tile is not in the coding its pack says.', {
        code: 'bad_pack',
        cause: error,
      })
    }
  }

  /** One of the representations of a tile; `stored` is the coding the pack has it in. */
  #bytes(
    context: EdgeRequestContext,
    request: PackRequest,
    tile: HotTile,
    type: string,
    stored: PackTile['coding'],
  ): IngressResponse {
    const isPlain = context.method === 'GET' && !isSelective(context.headers)
    const known = request.address === undefined ? 'named' : 'pinned'
    const before = isPlain ? tile.answers[known] : undefined
    if (before !== undefined) {
      countOut(this.#runtime.metrics, 'p', tile.bytes.length)
      return before
    }
    const headers = [...this.#headers(request, tile.etag), ...(stored === undefined ? [] : VARY)]
    const coded = tile.coding === undefined ? [] : ['Content-Encoding', tile.coding]
    const what = {
      status: 200,
      etag: tile.etag,
      type,
      headers: [...headers, 'Accept-Ranges', 'bytes', ...coded],
      cachingHeaders: headers,
      ...inMemory(tile.bytes),
    }
    const answer = serve(context, what, this.#serving())
    if (isPlain) tile.answers[known] = frozen(answer)
    return answer
  }

  /** TileJSON 3, with URLs that lead back here. */
  tileJson(context: EdgeRequestContext, request: PackRequest, base: string): IngressResponse {
    using held = this.#packs.hold(request.name, request.address)
    return this.#document(context, request, tileJson(held.pack.facts, base))
  }

  metadata(context: EdgeRequestContext, request: PackRequest): IngressResponse {
    using held = this.#packs.hold(request.name, request.address)
    return this.#document(context, request, held.pack.metadata)
  }

  #document(context: EdgeRequestContext, request: PackRequest, value: unknown): IngressResponse {
    const bytes = new TextEncoder().encode(JSON.stringify(value))
    return this.#bytes(
      context,
      request,
      { bytes, coding: undefined, etag: entityTagOf(addressOf(bytes)), answers: {} },
      'application/json',
      undefined,
    )
  }

  #headers({ address }: PackRequest, etag: string | undefined): string[] {
    const caching = address === undefined ? FOR_NOW : IMMUTABLE
    return [...caching, ...INERT, ...(etag === undefined ? [] : ['ETag', etag])]
  }

  #serving(): Serving {
    const { clock, metrics } = this.#runtime
    return { metrics, nowMs: clock.wall(), multiRange: this.#config().http.enable_multi_range, route: 'p' }
  }
}

const VARY: readonly string[] = ['Vary', 'Accept-Encoding']

function isStreamed({ body }: IngressResponse): boolean {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}

async function* keepOpen(held: HeldPack, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  using _held = held
  yield* bytes
}
