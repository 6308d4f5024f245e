/**
 * Holds on a directory and everything below it.
 *
 *     root ─▶ held ─▶ its entries, some hundred at a time: one write for those not held yet ─▶ each directory among them …
 *
 * So moving a name to a version that differs in ten files writes about ten records, and releases about ten.
 */
import { CairnError, Deadline, isKind, type Runtime } from '@cairn/kernel'
import type { Workers, WorkerTask } from '@cairn/platform'
import { type Address, addressFromDigest, MAX_TREE_BYTES, mayBeTree } from '@cairn/wire'
import { noSuchObject } from '../errors.ts'
import { listTree, REFERENCE_BYTES } from './list-tree.ts'
import type { ObjectCatalog, ObjectReader } from './object-reader.ts'
import { windowsOf } from './window-core.ts'

/** Objects of one write. */
const BATCH = 1024
/** Of one tree; more than a node of this size has. */
const ENTRIES_MAX = 10_000_000
/** What is listed in about a millisecond; more is another thread's work. */
const INLINE_BYTES_MAX = 8 * 1024
const LIST_MS = 30_000
/** Told of what is missing. */
const MISSING_MAX = 100

const LIST: WorkerTask<Uint8Array, Uint8Array> = {
  module: new URL('./list-tree.ts', import.meta.url),
  name: listTree.name,
}

export interface TreeProgress {
  /** Objects seen so far, the root included. */
  readonly objects: number
  /** Holds that were written, or ended. */
  readonly changed: number
  readonly missing: number
  /** Some of those that are missing. */
  readonly missingAddresses: readonly Address[]
}

export interface TreeHoldsParts {
  readonly runtime: Runtime
  readonly workers: Workers
  readonly objects: ObjectCatalog
  readonly reader: ObjectReader
}

export class TreeHolds {
  readonly #parts: TreeHoldsParts

  constructor(parts: TreeHoldsParts) {
    this.#parts = parts
  }

  /** Holds the root and everything below it; tells how far it is. `NotFound` if there is no root. */
  async *hold(owner: string, root: Address): AsyncGenerator<TreeProgress> {
    const { objects } = this.#parts
    const found = await objects.holdAll(owner, [root])
    if (found.missing.length > 0) throw noSuchObject(root)
    let [seen, changed, missing] = [1, found.written, 0]
    const missingAddresses: Address[] = []
    for await (const batch of this.#below(root)) {
      const counts = await objects.holdAll(owner, batch)
      seen += batch.length
      changed += counts.written
      missing += counts.missing.length
      missingAddresses.push(...counts.missing.slice(0, MISSING_MAX - missingAddresses.length))
      yield { objects: seen, changed, missing, missingAddresses }
    }
    yield { objects: seen, changed, missing, missingAddresses }
  }

  /** Ends the owner's holds on the root and what is below it, but for what these other trees have too; the root last. */
  async *release(owner: string, root: Address, keep: readonly Address[]): AsyncGenerator<TreeProgress> {
    const { objects } = this.#parts
    const kept = new Set<string>()
    for (const other of keep) {
      kept.add(other)
      for await (const batch of this.#below(other)) for (const id of batch) kept.add(id)
    }
    let [seen, changed] = [1, 0]
    for await (const batch of this.#below(root)) {
      const gone = batch.filter((id) => !kept.has(id))
      changed += await objects.releaseAll(owner, gone)
      seen += batch.length
      yield { objects: seen, changed, missing: 0, missingAddresses: [] }
    }
    if (!kept.has(root)) changed += await objects.releaseAll(owner, [root])
    yield { objects: seen, changed, missing: 0, missingAddresses: [] }
  }

  /** Everything below this, each directory once; nothing below what is no directory or is not here. */
  async *#below(root: Address): AsyncGenerator<Address[]> {
    const directories = [root]
    const met = new Set<string>(directories)
    let entries = 0
    for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
      const packed = await this.#listed(directory)
      entries += packed.length / REFERENCE_BYTES
      if (entries > ENTRIES_MAX) throw tooManyEntries(root)
      for (let from = 0; from < packed.length; from += BATCH * REFERENCE_BYTES) {
        const batch: Address[] = []
        const to = Math.min(packed.length, from + BATCH * REFERENCE_BYTES)
        for (let at = from; at < to; at += REFERENCE_BYTES) {
          const id = addressFromDigest(packed.subarray(at + 1, at + REFERENCE_BYTES))
          batch.push(id)
          if (packed[at] !== 1 || met.has(id)) continue
          met.add(id)
          directories.push(id)
        }
        yield batch
      }
    }
  }

  async #listed(id: Address): Promise<Uint8Array> {
    const bytes = await this.#directory(id)
    if (bytes === undefined) return NOTHING
    const { runtime, workers } = this.#parts
    try {
      if (bytes.length <= INLINE_BYTES_MAX) return listTree(bytes)
      const deadline = Deadline.after(runtime.clock, LIST_MS)
      return await workers.run(LIST, bytes, { deadline, transfer: [bytes.buffer] })
    } catch (error) {
      // It only begins like one.
      if (isKind(error, 'Malformed')) return NOTHING
      throw error
    }
  }

  /** The bytes, if they may be a directory's. */
  async #directory(id: Address): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { reader } = this.#parts
    const object = await reader.find(id)
    if (object === undefined || object.facts.size === 0 || object.facts.size > MAX_TREE_BYTES) return undefined
    const { size, chunkSize } = object.facts
    const bytes = new Uint8Array(size)
    let filled = 0
    for (const window of windowsOf({ first: 0, last: size - 1 }, chunkSize)) {
      using loaded = await reader.load(object, window)
      for (const piece of loaded.pieces) {
        bytes.set(piece, filled)
        filled += piece.length
      }
      if (!mayBeTree(bytes.subarray(0, filled))) return undefined
    }
    return bytes
  }
}

const NOTHING = new Uint8Array(0)

function tooManyEntries(root: Address): CairnError {
  const detail = `The directory ${root} has more than ${ENTRIES_MAX} entries; hold its parts.`
  return new CairnError('TooLarge', detail, { code: 'tree_too_large' })
}
