/**
 * Directories of sites, for single look-ups.
 *
 *     address ─▶ in memory? ─▶ bytes ─▶ checked and indexed on a worker thread ─▶ in memory: bytes and offsets
 *                               └ once for all who ask for it at the same time
 *
 * A directory of some ten thousand files takes half a second to decode and many times its bytes in objects. So no
 * directory of more than a few kilobytes is decoded on the event loop, none is kept decoded, and none past
 * `max_directory_bytes` is read at all.
 */
import { CairnError, Cancel, Deadline, isKind, type Runtime } from '@cairn/kernel'
import type { Workers, WorkerTask } from '@cairn/platform'
import { abortable } from '@cairn/transport'
import { type Address, entryNamed, MAX_TREE_BYTES, type TreeEntry } from '@cairn/wire'
import { HotBytes } from '../answers/hot-bytes.ts'
import type { EdgeRequestContext } from '../answers/serve.ts'
import type { EdgeConfig } from '../config.ts'
import { directoryTooLarge } from '../errors.ts'
import type { ObjectAnswers } from '../objects/object-answers.ts'
import { indexDirectory } from './index-directory.ts'

/** What is indexed in about a millisecond; more is another thread's work. */
const INLINE_BYTES_MAX = 8 * 1024
/** Kept in memory: what an address means never changes, so only room ends it. */
const KEPT_BYTES = 2 * MAX_TREE_BYTES
const KEPT_MS = 3_600_000
const FOUND_BYTES = 4 * 1024 * 1024
/** About what an entry takes beside its name. */
const ENTRY_BYTES = 512
/** From the first byte to the index. Each who waits has a deadline of their own. */
const LOAD_MS = 15_000

const INDEX: WorkerTask<Uint8Array, Uint32Array> = {
  module: new URL('./index-directory.ts', import.meta.url),
  name: indexDirectory.name,
}

interface IndexedDirectory {
  readonly bytes: Uint8Array
  readonly offsets: Uint32Array
}

interface DirectoryLoad {
  readonly directory: Promise<IndexedDirectory>
  readonly cancel: Cancel
  waiting: number
}

export interface DirectoriesOptions {
  readonly runtime: Runtime
  readonly workers: Workers
  readonly config: () => EdgeConfig
  readonly objects: Pick<ObjectAnswers, 'bytes'>
}

export class Directories {
  readonly #options: DirectoriesOptions
  readonly #kept: HotBytes<IndexedDirectory>
  readonly #loads = new Map<Address, DirectoryLoad>()
  /** Files asked for again and again: finding one takes a tenth of what an answer does. */
  readonly #found: HotBytes<TreeEntry>

  constructor(options: DirectoriesOptions) {
    this.#options = options
    this.#kept = new HotBytes(options.runtime.clock, KEPT_BYTES, KEPT_MS)
    this.#found = new HotBytes(options.runtime.clock, FOUND_BYTES, KEPT_MS)
  }

  /** The entry of this name in the directory at this address. */
  async entry(context: EdgeRequestContext, id: Address, name: string): Promise<TreeEntry | undefined> {
    const key = `${id}/${name}`
    const found = this.#found.get(key)
    if (found !== undefined) return found
    const { bytes, offsets } = this.#kept.get(id) ?? (await this.#loaded(context, id))
    const entry = entryNamed(bytes, offsets, name)
    // oxlint-disable-next-line cairn/check-then-act -- what an address names never changes
    if (entry !== undefined) this.#found.set(key, entry, key.length + ENTRY_BYTES)
    return entry
  }

  /** Of those who ask at the same time each waits as long as it likes; when the last has left, the load ends. */
  async #loaded({ corrId, signal }: EdgeRequestContext, id: Address): Promise<IndexedDirectory> {
    const load = this.#loads.get(id) ?? this.#load(corrId, id)
    load.waiting += 1
    try {
      return await abortable(signal, load.directory)
    } finally {
      load.waiting -= 1
      if (load.waiting === 0 && this.#loads.get(id) === load) {
        this.#loads.delete(id)
        load.cancel.abort()
      }
    }
  }

  #load(corrId: string, id: Address): DirectoryLoad {
    const deadline = Deadline.after(this.#options.runtime.clock, LOAD_MS)
    const cancel = new Cancel({ deadline, operation: 'the directory' })
    const directory = this.#read({ corrId, deadline, signal: cancel.signal }, id).finally(() => {
      cancel[Symbol.dispose]()
      if (this.#loads.get(id) === load) this.#loads.delete(id)
    })
    const load = { directory, cancel, waiting: 0 }
    this.#loads.set(id, load)
    return load
  }

  async #read(
    context: Pick<EdgeRequestContext, 'corrId' | 'deadline' | 'signal'>,
    id: Address,
  ): Promise<IndexedDirectory> {
    const { objects, config } = this.#options
    const { max_directory_bytes: bytesMax } = config()
    try {
      const bytes = await objects.bytes(context, id, bytesMax)
      const offsets = bytes.length <= INLINE_BYTES_MAX ? indexDirectory(bytes) : await this.#indexed(bytes, context)
      const directory = { bytes, offsets }
      this.#kept.set(id, directory, bytes.length + offsets.byteLength)
      return directory
    } catch (cause) {
      if (isKind(cause, 'TooLarge')) throw directoryTooLarge(id, bytesMax, cause)
      if (!isKind(cause, 'Malformed')) throw cause
      // A name may mean any object; only a directory is a website.
      const detail = `The name means ${id}, which is no directory; its bytes are at /edge/assets/b3/${id.slice('b3:'.length)}.`
      throw new CairnError('NotFound', detail, { cause })
    }
  }

  /** The thread gets a copy: the bytes may be somebody else's, and are still needed here. */
  async #indexed(
    bytes: Uint8Array,
    { deadline, signal }: Pick<EdgeRequestContext, 'deadline' | 'signal'>,
  ): Promise<Uint32Array> {
    const copy = new Uint8Array(bytes)
    return await this.#options.workers.run(INDEX, copy, { deadline, signal, transfer: [copy.buffer] })
  }
}
