/** A storage, an index and packs that are no more than the tests need. */
import type { IndexClient, RankedProvider, Resolution, StorageClient } from '@cairn/clients'
import { selectBytes } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { IncomingResponse } from '@cairn/transport'
import { type Address, addressOf, contentRange, encodeTree, entityTagOf, type TreeEntry } from '@cairn/wire'
import type { OpenPack, ServedPack } from '../src/packs/open-pack.ts'

export interface FakeObject {
  readonly bytes: Uint8Array
  readonly type: string
}

/** Objects by address. */
export class FakeStorage {
  readonly objects = new Map<Address, FakeObject>()
  reads = 0

  put(bytes: Uint8Array | string, type = 'application/octet-stream'): Address {
    const all = Buffer.from(bytes as Uint8Array)
    const id = addressOf(all)
    this.objects.set(id, { bytes: all, type })
    return id
  }

  /** `docs/` with the address of a directory, `latest ->` with the target of a link, anything else with its bytes. */
  tree(files: Readonly<Record<string, Uint8Array | string>>): Address {
    const entries = Object.entries(files).map(([name, content]): TreeEntry => {
      if (name.endsWith(' ->')) return { name: name.slice(0, -' ->'.length), kind: 'link', target: String(content) }
      if (name.endsWith('/')) return { name: name.slice(0, -1), kind: 'tree', id: content as Address, size: 0 }
      const bytes = Buffer.from(content as Uint8Array)
      return { name, kind: 'file', id: this.put(bytes), size: bytes.length }
    })
    return this.put(encodeTree(entries))
  }

  client(): StorageClient {
    const refuse = async (): Promise<never> => await Promise.reject(new CairnError('Internal', 'Not asked for here.'))
    return {
      get: async (id, bytesMax) => {
        await Promise.resolve()
        const object = this.#find(id)
        if (object.bytes.length > bytesMax) throw new CairnError('TooLarge', 'Too large.')
        return object.bytes
      },
      open: async (id, headers) => {
        await Promise.resolve()
        this.reads += 1
        const object = this.objects.get(id)
        return object === undefined ? response(404, {}, undefined) : answer(id, object, headers)
      },
      has: refuse,
      list: refuse,
      put: refuse,
      putHeld: refuse,
      remove: refuse,
      hold: refuse,
      release: refuse,
      holdTree: refuse,
      releaseTree: refuse,
      manifest: refuse,
      chunk: refuse,
      missing: refuse,
      putChunk: refuse,
      commit: refuse,
      events: async function* () {},
    }
  }

  #find(id: Address): FakeObject {
    const object = this.objects.get(id)
    if (object === undefined) throw new CairnError('NotFound', 'There is no such object.')
    return object
  }
}

function answer(id: Address, { bytes, type }: FakeObject, headers: Readonly<Record<string, string>>): IncomingResponse {
  const slot = (name: string): string | undefined => headers[name]
  const selection = selectBytes({ method: 'GET', headers: { slot }, nowMs: 0 }, { etag: entityTagOf(id) }, bytes.length)
  const own = { 'content-type': type, etag: entityTagOf(id) }
  switch (selection.kind) {
    case 'not-modified':
      return response(304, own, undefined)
    case 'precondition-failed':
      return response(412, {}, undefined)
    case 'unsatisfiable':
      return response(416, { 'content-range': contentRange(bytes.length) }, undefined)
    case 'single': {
      const part = bytes.subarray(selection.range.first, selection.range.last + 1)
      return response(206, { ...own, 'content-range': contentRange(bytes.length, selection.range) }, part)
    }
    case 'multiple':
    case 'whole':
      return response(200, own, bytes)
  }
}

function response(status: number, headers: Record<string, string>, bytes: Uint8Array | undefined): IncomingResponse {
  const body = {
    async *[Symbol.asyncIterator]() {
      for (let at = 0; at < (bytes?.length ?? 0); at += 50_000)
        yield await Promise.resolve(bytes!.subarray(at, at + 50_000))
    },
    cancel: () => {},
  }
  const length = bytes === undefined ? {} : { 'content-length': String(bytes.length) }
  return { status, headers: { ...headers, ...length }, body }
}

export interface FakeNames {
  readonly names?: Readonly<Record<string, Address>>
  readonly providers?: readonly string[]
  /** Hears who was reported, and why. */
  readonly onReport?: (provider: string, reason: string) => void
}

export function fakeIndex({ names = {}, providers = [], onReport }: FakeNames, asked: string[] = []): IndexClient {
  const refuse = async (): Promise<never> => await Promise.reject(new CairnError('Internal', 'Not asked for here.'))
  return {
    resolve: async (key): Promise<Resolution | undefined> => {
      await Promise.resolve()
      asked.push(key)
      const manifest = names[key.replace(/^name:/, '')]
      if (manifest === undefined) return undefined
      const proof = Buffer.from(JSON.stringify({ checkpoint: 'registry.example\n42\nroot\n' }))
      return { key, kind: 'name', manifest, source: 'registry', freshnessSeconds: 0, providersHint: 0, proof }
    },
    providers: async (cid) => {
      await Promise.resolve()
      const ranked = providers.map((http, at): RankedProvider => {
        return { id: `p${at}`, http: [http], class: 'fresh', score: 1, lastSeenSeconds: 0 }
      })
      return { cid, providers: ranked }
    },
    peers: refuse,
    report: async (_cid, provider, reason) => {
      await Promise.resolve()
      onReport?.(provider, reason)
    },
    announce: refuse,
    pin: refuse,
    unpin: refuse,
    putName: refuse,
    removeName: refuse,
  }
}

export interface FakePack {
  readonly file: Uint8Array
  /** By `z/x/y`. */
  readonly tiles: Readonly<Record<string, Uint8Array>>
  readonly coding?: 'gzip'
}

export class FakePacks {
  /** By path; `undefined` cannot be opened. */
  readonly files = new Map<string, FakePack | undefined>()
  opened = 0
  closed = 0
  /** Called before a tile is read. */
  onTile: () => Promise<void> = async () => await Promise.resolve()

  readonly open: OpenPack = async ({ path, address: wanted }) => {
    await Promise.resolve()
    const found = this.files.get(path)
    if (found === undefined) throw new CairnError('Integrity', `${path} is no pack.`)
    const address = addressOf(found.file)
    if (wanted !== undefined && wanted !== address) throw new CairnError('Integrity', `${path} is another pack.`)
    this.opened += 1
    return this.#pack(found, address)
  }

  #pack({ file, tiles, coding }: FakePack, address: Address): ServedPack {
    let isOpen = true
    const mustBeOpen = (): void => {
      if (!isOpen) throw new CairnError('Internal', 'The pack is closed.')
    }
    return {
      address,
      size: file.length,
      mediaType: 'application/vnd.pmtiles',
      metadata: { name: 'fake' },
      facts: {
        format: 'png',
        mediaType: 'image/png',
        minZoom: 0,
        maxZoom: 4,
        bounds: [-180, -85, 180, 85],
        center: [0, 0, 0],
      },
      tile: async (z, x, y) => {
        await this.onTile()
        mustBeOpen()
        const bytes = tiles[`${z}/${x}/${y}`]
        return bytes === undefined ? undefined : { bytes, coding }
      },
      read: async function* ({ first, last }) {
        for (let at = first; at <= last; at += 10_000) {
          mustBeOpen()
          yield await Promise.resolve(file.subarray(at, Math.min(last + 1, at + 10_000)))
        }
      },
      close: async () => {
        isOpen = false
        this.closed += 1
        await Promise.resolve()
      },
    }
  }
}
