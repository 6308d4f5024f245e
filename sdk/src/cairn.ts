/** A client of a node: the one class users of this package hold. */
import { KERNEL_METRICS, MemoryLog, MemoryMetrics, type Runtime, systemRuntime } from '@cairn/kernel'
import type { TreeEntry } from '@cairn/wire'
import { Connection, type Fetch } from './connection.ts'
import { type GetOptions, get } from './get.ts'
import { type PutOptions, type PutResult, put } from './put.ts'
import type { Source } from './source.ts'
import {
  type DirectoryReader,
  type DirectoryWriter,
  type GetTreeOptions,
  getTree,
  putTree,
  readTree,
  type TreeOptions,
  type TreeProgress,
  type TreeResult,
} from './tree.ts'
import {
  type AskOptions,
  type ListOptions,
  list,
  type ObjectPage,
  remove,
  type ScrubReport,
  scrub,
  scrubReport,
} from './upkeep.ts'

export interface CairnOptions {
  /** Where the storage service of the node is: `http://127.0.0.1:7071`. */
  readonly storageUrl: string | URL
  /** A capability token; reads need none unless the node says so. */
  readonly token?: string | undefined
  /** How long a small question may take (default 30 s); transfers have budgets of their own. */
  readonly timeoutMs?: number | undefined
  /** What sends requests, where the global one does not fit. */
  readonly fetch?: Fetch
  /** Time and chance, where they are not the machine's: in tests. */
  readonly runtime?: Runtime
}

const TIMEOUT_MS = 30_000

export class Cairn {
  readonly #storage: Connection

  constructor({ storageUrl, token, timeoutMs = TIMEOUT_MS, fetch, runtime }: CairnOptions) {
    this.#storage = new Connection({
      runtime: runtime ?? systemRuntime(new MemoryLog(), new MemoryMetrics(KERNEL_METRICS)),
      base: directoryOf(storageUrl),
      token,
      timeoutMs,
      fetch: fetch ?? (async (url, init) => await globalThis.fetch(url, init)),
    })
  }

  /** Stores bytes; resolves once they are durable. Repeated after a failure, it sends only what is missing. */
  async put(source: Source, options?: PutOptions): Promise<PutResult> {
    return await put(this.#storage, source, options)
  }

  /** The bytes at an address, each proved before it is handed out; errors before a byte that is not the object's. */
  get(address: string, options?: GetOptions): ReadableStream<Uint8Array> {
    return get(this.#storage, address, options)
  }

  async putTree(directory: DirectoryReader, options?: TreeOptions): Promise<TreeResult> {
    return await putTree(this.#storage, directory, options)
  }

  async getTree(address: string, writer: DirectoryWriter, options?: GetTreeOptions): Promise<TreeProgress> {
    return await getTree(this.#storage, address, writer, options)
  }

  async readTree(address: string, options?: AskOptions): Promise<readonly TreeEntry[]> {
    return await readTree(this.#storage, address, options)
  }

  async list(options?: ListOptions): Promise<ObjectPage> {
    return await list(this.#storage, options)
  }

  async remove(address: string, options?: AskOptions): Promise<void> {
    await remove(this.#storage, address, options)
  }

  async scrub(options?: AskOptions): Promise<ScrubReport> {
    return await scrub(this.#storage, options)
  }

  async scrubReport(options?: AskOptions): Promise<ScrubReport> {
    return await scrubReport(this.#storage, options)
  }
}

/** Routes lie below the URL, also where it has a path of its own. */
function directoryOf(url: string | URL): URL {
  const base = new URL(url)
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return base
}
