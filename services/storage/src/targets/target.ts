/**
 * A place that can hold copies of objects: a drive of this node, or another node.
 *
 *     object ── placement ──▶ targets in order ── the first few, in distinct failure domains ──▶ a whole copy on each
 *
 * A copy is whole or absent: facts, list of chunks and every chunk are on the same target. A version orders puts and
 * deletes of one object over all targets; it is a counter, never a time.
 */
import type { Deadline } from '@cairn/kernel'
import type { ChunkBytes } from '@cairn/store'
import { type Address, type Manifest, toHex } from '@cairn/wire'

/**
 * Deletes that no target contradicts any more, by the last whole round of the planner: the only ones a drive may forget
 * once they are old enough.
 */
export class SettledDeletes {
  #settled: ReadonlySet<string> = new Set()

  replace(settled: ReadonlySet<string>): void {
    this.#settled = settled
  }

  /** Whether some target may hold an older copy that this delete still has to beat. */
  isNeeded(object: Uint8Array): boolean {
    return !this.#settled.has(toHex(object))
  }
}

export interface TargetIdentity {
  /** Never changes: the uuid of a drive, the configured id of a peer. */
  readonly id: string
  readonly kind: 'drive' | 'peer'
  /** The node it belongs to; every node calls itself and the others by the same ids. */
  readonly node: string
  /** What fails together: two targets of one domain are one copy. */
  readonly domain: string
  readonly region: string
  readonly weight: number
  /** Of the whole node beside other nodes, however many drives it has; 1 unless it says so. */
  readonly nodeWeight?: number
}

export type TargetHealth =
  | { readonly tag: 'up' }
  /** Reads may work; it takes no copies now. */
  | { readonly tag: 'unwritable'; readonly why: string }
  | { readonly tag: 'down'; readonly why: string }

/** What a target knows of one object. */
export type KnownCopy =
  | {
      readonly tag: 'absent'
      /** It has a drive that cannot be asked now, and that may know better. */
      readonly isPartial?: true
      /** It has a record of the object, and that is damaged. */
      readonly isDamaged?: true
    }
  | {
      readonly tag: 'object'
      readonly version: number
      /** All of it was read and hashed where it lies since that node started. */
      readonly isProved: boolean
      /** It is erasure-coded, and this target keeps a share of its shards. */
      readonly isStriped?: true
      /** Who holds it there, if anybody does; not in a page. */
      readonly owners?: readonly string[]
    }
  | {
      readonly tag: 'tombstone'
      readonly version: number
      /** The signed statement of the node that took the delete; a drive of this node may have one of version 0.1 without. */
      readonly record?: Uint8Array
    }

export interface CopyRow {
  readonly id: Address
  readonly known: Exclude<KnownCopy, { tag: 'absent' }>
}

export interface CopyFacts {
  readonly size: number
  readonly type: string
  readonly chunkSize: number
  readonly version: number
  /** Who holds it; a copy is held by the same. */
  readonly owners: readonly string[]
}

/** An object to be made visible; its chunks are there already. */
export interface ObjectCopy extends CopyFacts {
  readonly id: Address
  /** Absent for an object of one chunk, whose chunk has the object's address. */
  readonly manifest: Manifest | undefined
  /** Kept the chunks until now. */
  readonly upload: string
}

/** An object that is in memory, all of it. */
export interface WholeCopy extends Omit<CopyFacts, 'size'> {
  readonly id: Address
  readonly bytes: Uint8Array
}

/** What bounds one operation. A drive has a limit of its own for each of its operations and needs no deadline. */
export interface TargetCall {
  readonly deadline: Deadline
  readonly signal?: AbortSignal | undefined
}

export type WriteOutcome = 'new' | 'present'

/**
 * The operations replication is made of. All are idempotent. Errors are `CairnError`s; of them `Conflict` with the code
 * `newer_version` says that the target knows a newer put or delete, whose version is the error's cause.
 */
export interface ObjectTarget {
  readonly identity: TargetIdentity
  health(): TargetHealth
  /** What it knows of each, in the order given; at most 1024. */
  known(ids: readonly Address[], call: TargetCall): Promise<readonly KnownCopy[]>
  /** Those of the chunks it lacks; the others are kept for the upload. `object` is what they are for. */
  missing(ids: readonly Address[], place: UploadContext, call: TargetCall): Promise<readonly Address[]>
  /** Takes chunks, hashed where they arrive; all are durable when it resolves. At most 1 MiB together, or one chunk. */
  putChunks(chunks: readonly Uint8Array[], place: UploadContext, call: TargetCall): Promise<void>
  /** Makes an object visible, durably. `missing_chunks` if some are not there; a tombstone as new as it wins. */
  commit(copy: ObjectCopy, call: TargetCall): Promise<WriteOutcome>
  /** Takes a whole object of up to 1 MiB, durably. */
  put(copy: WholeCopy, call: TargetCall): Promise<WriteOutcome>
  /** The bytes, proved; `undefined` if there is no such chunk, `Integrity` if what is there is not the chunk. */
  readChunk(id: Address, call: TargetCall): Promise<ChunkBytes | undefined>
  stat(id: Address, call: TargetCall): Promise<CopyFacts | undefined>
  /** `undefined` for an object of one chunk; `NotFound` if there is no copy. */
  manifest(id: Address, call: TargetCall): Promise<Manifest | undefined>
  /** Remembers that the object is gone as of this version, and drops the copy if there is one. `referenced` while it is held. */
  remove(id: Address, deletion: Deletion, call: TargetCall): Promise<void>
  hold(owner: string, id: Address, call: TargetCall): Promise<void>
  release(owner: string, id: Address, call: TargetCall): Promise<void>
  /** Objects and tombstones in order of address, after the given one. */
  page(after: Address | undefined, limit: number, call: TargetCall): Promise<readonly CopyRow[]>
}

export interface Deletion {
  readonly version: number
  /** It goes although it is held; a peer does not do so on the word of another. */
  readonly isAgreed: boolean
  /** The signed statement a peer asks for. */
  readonly record: Uint8Array | undefined
}

/** Where chunks go before their object is visible. */
export interface UploadContext {
  readonly object: Address
  readonly upload: string
}
