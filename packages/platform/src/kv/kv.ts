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

export interface Kv extends AsyncDisposable {
  get(key: Uint8Array): Uint8Array | undefined
  /** Entries in order of key bytes, read at one moment. */
  range(range: KvRange): Iterable<{ key: Uint8Array; value: Uint8Array }>
  /** All or nothing, durable once resolved. An error poisons the store until it is reopened. */
  commit(operations: readonly KvOperation[]): Promise<void>
  close(): Promise<void>
}

export interface KvOpener {
  /** Opens or creates the store in this directory. */
  open(path: string, options: { readonly mapBytesMax: number }): Promise<Kv>
}
