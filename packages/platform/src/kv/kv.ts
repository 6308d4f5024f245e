/** An ordered map on disk that may be lost and rebuilt: an index, never the only holder of a fact. */

export type KvOperation =
  | { readonly tag: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly tag: 'delete'; readonly key: Uint8Array }

export interface KvRange {
  readonly from?: Uint8Array
  /** Exclusive. */
  readonly to?: Uint8Array
  readonly limit?: number
}

export interface KvEntry {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** The longest key the file format takes in its smallest page; the shortest is one byte. */
export const KV_KEY_BYTES_MAX = 1978

export interface Kv extends AsyncDisposable {
  /** What the last commit that resolved left there. The bytes are the caller's. */
  get(key: Uint8Array): Uint8Array | undefined
  /** Entries in order of key bytes, all as they stood when the first was read. Read to the end or `break`: an iterator left hanging pins old pages. */
  range(range: KvRange): Iterable<KvEntry>
  /** All or nothing, durable once resolved. An error poisons the store: reads and commits fail until it is reopened. */
  commit(operations: readonly KvOperation[]): Promise<void>
  close(): Promise<void>
}

export interface KvOpener {
  /** Opens or creates the store in this directory. One at a time: `Conflict` while it is open. */
  open(path: string, options: { readonly mapBytes: number }): Promise<Kv>
}
