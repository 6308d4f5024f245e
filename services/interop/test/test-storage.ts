/** Storage as interop sees it, in a map: proved like the real one, and as slow or broken as a test wants it. */
import type { CallContext, StorageClient } from '@cairn/clients'
import { CairnError, type Clock, sleep } from '@cairn/kernel'
import { type Address, addressOf, chunkAddress, type Manifest } from '@cairn/wire'

export class TestStorage implements StorageClient {
  readonly objects = new Map<Address, Uint8Array>()
  readonly manifests = new Map<Address, Manifest>()
  readonly chunks = new Map<Address, Uint8Array>()
  readonly holds = new Map<Address, string>()
  /** Every call, in order. */
  readonly calls: { readonly operation: string; readonly context: CallContext }[] = []
  /** Headers that reads came with. */
  readonly opened: Readonly<Record<string, string>>[] = []
  readonly #clock: Clock
  /** What chunks came in. */
  readonly buffers = new Set<ArrayBufferLike>()
  /** What a call takes. */
  latencyMs = 0
  /** Thrown instead of an answer. */
  failure: CairnError | undefined
  /** Chunks under way now, and the most there were. */
  underWay = 0
  underWayMax = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async put(bytes: Uint8Array, _type: string, context: CallContext) {
    await this.#called('put', context)
    const address = addressOf(bytes)
    const isNew = !this.objects.has(address)
    this.objects.set(address, bytes.slice())
    return { address, size: bytes.length, isNew }
  }

  async putHeld(owner: string, bytes: Uint8Array, type: string, context: CallContext) {
    const stored = await this.put(bytes, type, context)
    this.holds.set(stored.address, owner)
    return stored
  }

  async get(address: Address, bytesMax: number, context: CallContext) {
    await this.#called('get', context)
    const bytes = this.objects.get(address)
    if (bytes === undefined) throw new CairnError('NotFound', 'There is no such object.')
    if (bytes.length > bytesMax) throw new CairnError('TooLarge', 'It is larger.')
    return bytes
  }

  async has(address: Address, context: CallContext) {
    await this.#called('has', context)
    return this.objects.has(address)
  }

  async list(_cursor: Address | undefined, context: CallContext) {
    await this.#called('list', context)
    return { addresses: [...this.objects.keys()], cursor: undefined }
  }

  /** All of it, or nothing: what conditions and ranges mean is storage's own to test. */
  async open(address: Address, headers: Readonly<Record<string, string>>, context: CallContext) {
    await this.#called('open', context)
    this.opened.push(headers)
    const bytes = this.objects.get(address)
    const isKnown = headers['if-none-match'] !== undefined
    const status = bytes === undefined ? 404 : isKnown ? 304 : 200
    const told = { 'content-length': String(bytes?.length ?? 0), etag: `"${address}"`, 'x-secret': 'inside' }
    async function* body() {
      if (bytes !== undefined) yield await Promise.resolve(bytes)
    }
    return { status, headers: told, body: { [Symbol.asyncIterator]: body, cancel: () => undefined } }
  }

  async remove(address: Address, context: CallContext) {
    await this.#called('remove', context)
    this.objects.delete(address)
  }

  async hold(owner: string, address: Address, context: CallContext) {
    await this.#called('hold', context)
    if (!this.objects.has(address) && !this.manifests.has(address)) throw new CairnError('NotFound', 'Nothing to hold.')
    this.holds.set(address, owner)
  }

  async release(_owner: string, address: Address, context: CallContext) {
    await this.#called('release', context)
    this.holds.delete(address)
  }

  async holdTree(owner: string, root: Address, context: CallContext) {
    await this.hold(owner, root, context)
    return { objects: 1, changed: 1, missing: 0, missingAddresses: [] }
  }

  async releaseTree(owner: string, root: Address, _keep: readonly Address[], context: CallContext) {
    await this.release(owner, root, context)
    return { objects: 1, changed: 1, missing: 0, missingAddresses: [] }
  }

  async manifest(address: Address, context: CallContext) {
    await this.#called('manifest', context)
    const manifest = this.manifests.get(address)
    if (manifest === undefined && !this.objects.has(address))
      throw new CairnError('NotFound', 'There is no such object.')
    return manifest
  }

  async chunk(id: Address, context: CallContext) {
    await this.#called('chunk', context)
    return this.chunks.get(id) ?? new Uint8Array(0)
  }

  async missing(ids: readonly Address[], _upload: string, context: CallContext) {
    await this.#called('missing', context)
    return ids.filter((id) => !this.chunks.has(id))
  }

  async putChunk(id: Address, bytes: Uint8Array, _upload: string, context: CallContext) {
    this.underWay += 1
    this.underWayMax = Math.max(this.underWayMax, this.underWay)
    await this.#called('putChunk', context)
    if (addressOf(bytes) !== id) throw new CairnError('Conflict', 'The buffer changed under way.')
    this.chunks.set(id, bytes.slice())
    this.buffers.add(bytes.buffer)
    this.underWay -= 1
  }

  async commit(manifest: Manifest, _type: string, _upload: string, context: CallContext) {
    await this.#called('commit', context)
    for (let index = 0; index * manifest.chunkSize < manifest.size; index += 1) {
      if (!this.chunks.has(chunkAddress(manifest, index))) throw new CairnError('Conflict', 'A chunk is missing.')
    }
    this.manifests.set(manifest.id, manifest)
  }

  /** Nobody who uses this listens. */
  async *events(): AsyncGenerator<never> {}

  async #called(operation: string, context: CallContext): Promise<void> {
    this.calls.push({ operation, context })
    if (this.latencyMs > 0) await sleep(this.#clock, this.latencyMs)
    if (this.failure !== undefined) throw this.failure
    context.deadline.throwIfExpired(operation)
    await Promise.resolve()
  }
}
