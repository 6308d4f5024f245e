/**
 * What the DHT keeps on behalf of others, in memory and bounded. The library bounds none of it.
 *
 *     /dht/provider/<key>/<peer>   at most 64 peers for a key, 10 000 keys for a peer, 200 000 in all (our own aside)
 *     /peers/<peer>                at most 10 000 peers
 *     /dht/record/…                values are refused: cairn stores none
 *
 * What strangers send is taken one at a time between other work: the library reads a stream that is full of it to its
 * end without a pause, and everything else in this process would wait. Entries live in one map for each folder, so that
 * the providers of a key are found without a look at the others.
 */
import { type Clock, type Metrics, sleep } from '@cairn/kernel'
import type { Libp2pOptions } from 'libp2p'
import { KEYS_PER_PEER_MAX, PROVIDERS_PER_KEY_MAX, RECORDS_MAX } from './provider-record-store.ts'

type Datastore = NonNullable<Libp2pOptions['datastore']>
type DatastoreKey = Parameters<Datastore['put']>[0]
type DatastorePair = { key: DatastoreKey; value: Uint8Array }

const PROVIDERS = '/dht/provider/'
const VALUES = '/dht/record/'
const PEERS = '/peers'
const PEERS_MAX = 10_000

export interface KadDatastoreOptions {
  readonly clock: Clock
  readonly metrics: Metrics
  /** Our own peer id: what we provide is ours to bound. */
  readonly self: string
  /** The name of a peer among the peers, given its id. */
  readonly peerName: (id: string) => string
}

export class KadDatastore implements Datastore {
  readonly #clock: Clock
  readonly #metrics: Metrics
  readonly #self: string
  readonly #peerName: (id: string) => string
  readonly #folders = new Map<string, Map<string, DatastorePair>>()
  readonly #keysOf = new Map<string, number>()
  #providers = 0

  constructor({ clock, metrics, self, peerName }: KadDatastoreOptions) {
    this.#clock = clock
    this.#metrics = metrics
    this.#self = self
    this.#peerName = peerName
  }

  put(key: DatastoreKey, value: Uint8Array): DatastoreKey | Promise<DatastoreKey> {
    const { folder, name } = split(key)
    this.#keep(key, value)
    return folder.startsWith(PROVIDERS) && name !== this.#self ? this.#afterOthers(key) : key
  }

  async #afterOthers(key: DatastoreKey): Promise<DatastoreKey> {
    await sleep(this.#clock, 0)
    return key
  }

  #keep(key: DatastoreKey, value: Uint8Array): void {
    const { folder, name } = split(key)
    const entries = this.#folders.get(folder) ?? new Map<string, DatastorePair>()
    const isNew = !entries.has(name)
    if (isNew) {
      const refusal = this.#refusal(folder, name, entries.size)
      if (refusal !== undefined) return this.#metrics.count('provider_records_total', { state: refusal })
      this.#counted(folder, name, 1)
    }
    this.#folders.set(folder, entries)
    entries.set(name, { key, value })
  }

  get(key: DatastoreKey): Uint8Array {
    const { folder, name } = split(key)
    const pair = this.#folders.get(folder)?.get(name)
    if (pair === undefined) throw new NotFoundError(key.toString())
    return pair.value
  }

  has(key: DatastoreKey): boolean {
    const { folder, name } = split(key)
    return this.#folders.get(folder)?.has(name) === true
  }

  delete(key: DatastoreKey): void {
    const { folder, name } = split(key)
    const entries = this.#folders.get(folder)
    if (entries?.delete(name) !== true) return
    if (entries.size === 0) this.#folders.delete(folder)
    this.#counted(folder, name, -1)
  }

  async *putMany(source: Iterable<DatastorePair> | AsyncIterable<DatastorePair>): AsyncGenerator<DatastoreKey> {
    for await (const { key, value } of source) yield await this.put(key, value)
  }

  async *getMany(source: Iterable<DatastoreKey> | AsyncIterable<DatastoreKey>): AsyncGenerator<DatastorePair> {
    for await (const key of source) yield { key, value: this.get(key) }
  }

  async *deleteMany(source: Iterable<DatastoreKey> | AsyncIterable<DatastoreKey>): AsyncGenerator<DatastoreKey> {
    for await (const key of source) {
      this.delete(key)
      yield key
    }
  }

  batch(): ReturnType<Datastore['batch']> {
    const steps: (() => void)[] = []
    return {
      put: (key: DatastoreKey, value: Uint8Array) => void steps.push(() => this.#keep(key, value)),
      delete: (key: DatastoreKey) => void steps.push(() => this.delete(key)),
      commit: () => {
        for (const step of steps.splice(0)) step()
      },
    }
  }

  *query(query: Parameters<Datastore['query']>[0]): Generator<DatastorePair> {
    let found = this.#under(query.prefix ?? '')
    for (const filter of query.filters ?? []) found = found.filter(filter)
    for (const order of query.orders ?? []) found.sort(order)
    const offset = query.offset ?? 0
    yield* found.slice(offset, query.limit === undefined ? undefined : offset + query.limit)
  }

  *queryKeys(query: Parameters<Datastore['queryKeys']>[0]): Generator<DatastoreKey> {
    let found = this.#under(query.prefix ?? '').map(({ key }) => key)
    for (const filter of query.filters ?? []) found = found.filter(filter)
    for (const order of query.orders ?? []) found.sort(order)
    const offset = query.offset ?? 0
    yield* found.slice(offset, query.limit === undefined ? undefined : offset + query.limit)
  }

  #under(prefix: string): DatastorePair[] {
    const exact = this.#folders.get(prefix.replace(/\/$/, ''))
    if (exact !== undefined) return [...exact.values()]
    // A key of a hash never is the beginning of another, so a search that found no folder of its own found nothing.
    if (prefix.startsWith(PROVIDERS)) return []
    const folders = [...this.#folders].filter(([folder]) => `${folder}/`.startsWith(prefix))
    return folders.flatMap(([, entries]) => [...entries.values()])
  }

  /** Why an entry that is not here yet may not come in; undefined if it may. */
  #refusal(folder: string, name: string, beside: number): string | undefined {
    if (folder.startsWith(VALUES.slice(0, -1))) return 'malformed'
    if (folder === PEERS) return beside >= PEERS_MAX ? 'store_full' : undefined
    if (!folder.startsWith(PROVIDERS) || name === this.#self) return undefined
    if (beside >= PROVIDERS_PER_KEY_MAX) return 'key_full'
    if ((this.#keysOf.get(name) ?? 0) >= KEYS_PER_PEER_MAX) return 'peer_full'
    return this.#providers >= RECORDS_MAX || !this.#knowsPeer(name) ? 'store_full' : undefined
  }

  /** One provider that is not among the peers makes the library fail every question for its key. */
  #knowsPeer(id: string): boolean {
    const peers = this.#folders.get(PEERS)
    return peers === undefined || peers.size < PEERS_MAX || peers.has(this.#peerName(id))
  }

  #counted(folder: string, name: string, by: 1 | -1): void {
    if (!folder.startsWith(PROVIDERS) || name === this.#self) return
    this.#providers += by
    const keys = (this.#keysOf.get(name) ?? 0) + by
    if (keys > 0) this.#keysOf.set(name, keys)
    else this.#keysOf.delete(name)
  }
}

/** The library tells a missing entry from a failure by this name. */
class NotFoundError extends Error {
  override readonly name = 'NotFoundError'
}

function split(key: DatastoreKey): { readonly folder: string; readonly name: string } {
  const text = key.toString()
  const slash = text.lastIndexOf('/')
  return { folder: text.slice(0, slash), name: text.slice(slash + 1) }
}
