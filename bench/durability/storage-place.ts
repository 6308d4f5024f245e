/** Storage on several directories of one drive, without a port: what copies and shards cost by themselves. */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { INGRESS_METRICS } from '@cairn/http'
import { Config, KERNEL_METRICS, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { createPlatform, nodeLookup, openWorkers, type Platform, UndiciTransport } from '@cairn/platform'
import {
  openParts,
  STORAGE_METRICS,
  type StorageConfig,
  type StorageParts,
  storageSection,
} from '@cairn/storage/testing'
import { type Address, addressOf } from '@cairn/wire'

/** Among the dependencies: on the drive the repository is on. `/tmp` may be memory. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
const CHUNK_BYTES = 64 * 1024

export interface PlaceOptions {
  readonly drives: number
  readonly durability: { readonly mode?: 'erasure' | 'replicate'; readonly replication_factor?: number }
}

export class StoragePlace {
  readonly parts: StorageParts
  readonly #directory: string
  readonly #platform: Platform
  readonly #transport: UndiciTransport
  #uploads = 0

  private constructor(parts: StorageParts, directory: string, platform: Platform, transport: UndiciTransport) {
    this.parts = parts
    this.#directory = directory
    this.#platform = platform
    this.#transport = transport
  }

  static async open({ drives, durability }: PlaceOptions): Promise<StoragePlace> {
    mkdirSync(CACHE, { recursive: true })
    const directory = mkdtempSync(join(CACHE, 'durability-bench-'))
    const runtime = systemRuntime(
      new MemoryLog(),
      new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...STORAGE_METRICS }),
    )
    const transport = new UndiciTransport(runtime)
    const platform = createPlatform(runtime, { workers: openWorkers(runtime), transport, lookup: nodeLookup })
    const names = Array.from({ length: drives }, (_, at) => `drive-${at}`)
    const paths = names.map((domain) => ({ path: join(directory, domain), domain }))
    // Read from the drive, or the system's cache of it, and hashed each time: what is in memory is the same for all.
    const values = storageSection.parse({ drives: drives === 1 ? [] : paths, cache_bytes: 0, durability })
    const config = new Config<StorageConfig>({ values, origins: {} })
    const identitySeed = new Uint8Array(32)
    const parts = await openParts({ platform, config, directory: join(directory, 'storage'), identitySeed })
    return new StoragePlace(parts, directory, platform, transport)
  }

  /** Puts the object as a stream would; durable when it resolves. */
  async put(bytes: Uint8Array): Promise<Address> {
    this.#uploads += 1
    const { address } = await this.parts.writer.put({
      chunks: cut(bytes),
      chunkSize: CHUNK_BYTES,
      type: 'application/octet-stream',
      expected: undefined,
      upload: `bench ${this.#uploads}`,
      owners: [],
    })
    return address
  }

  /** Reads all of the object; returns how many bytes there were. */
  async get(id: Address): Promise<number> {
    const object = await this.parts.reader.find(id)
    if (object === undefined) return 0
    let bytes = 0
    for (let chunk = 0; chunk * CHUNK_BYTES < object.facts.size; chunk += 1) {
      const to = Math.min(CHUNK_BYTES, object.facts.size - chunk * CHUNK_BYTES)
      using window = await this.parts.reader.load(object, [{ chunk, from: 0, to }])
      for (const piece of window.pieces) bytes += piece.length
    }
    return bytes
  }

  /** Takes drives away for good. */
  async lose(count: number): Promise<void> {
    for (const drive of this.parts.drives.all.slice(0, count)) await drive.fail('The bench took it away.')
  }

  /** Removes every shard of these bytes from one drive; returns them. */
  async loseShards(at: number, length: number): Promise<Address[]> {
    const [drive, lost] = [this.parts.drives.all[at], new Array<Address>()]
    if (drive === undefined) return lost
    const { chunks } = drive.contents.storage
    for (const id of await chunks.list(undefined, 100_000)) {
      const held = await chunks.read(id)
      const isShard = held?.bytes.length === length
      held?.[Symbol.dispose]()
      if (isShard && (await chunks.remove(id))) lost.push(id)
    }
    return lost
  }

  /** Makes these shards anew on that drive, so many at a time, as fast as it can; returns the bytes. */
  async heal(at: number, shards: readonly Address[], workers: number): Promise<number> {
    const drive = this.parts.drives.all[at]
    const line = [...shards]
    let bytes = 0
    const work = async (): Promise<void> => {
      for (let next = line.pop(); next !== undefined; next = line.pop()) {
        if (drive === undefined) return
        const done = await this.parts.heal(drive, next, async () => await Promise.resolve())
        if (done.tag === 'repaired') bytes += done.bytes
      }
    }
    await Promise.all(Array.from({ length: workers }, work))
    return bytes
  }

  /** Writes these bytes as chunks of one drive, each durable; what copying them there would cost at least. */
  async putChunks(at: number, chunks: readonly Uint8Array[], workers: number): Promise<number> {
    const drive = this.parts.drives.all[at]
    const line = [...chunks]
    let bytes = 0
    const work = async (): Promise<void> => {
      for (let next = line.pop(); next !== undefined; next = line.pop()) {
        await drive?.contents.storage.chunks.put(addressOf(next), next, { upload: 'copy' })
        bytes += next.length
      }
    }
    await Promise.all(Array.from({ length: workers }, work))
    return bytes
  }

  async close(): Promise<void> {
    await this.parts.close()
    await this.#platform.workers.close()
    await this.#transport.close()
    await rm(this.#directory, { recursive: true, force: true })
  }
}

function* cut(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
}
