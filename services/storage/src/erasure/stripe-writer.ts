/**
 * Objects in, as shards on distinct drives; nothing is visible, or told, before all of it is durable.
 *
 *     chunks ─▶ stripe of k ─▶ parity on a thread ─▶ one shard to each of k + m drives ─▶ … ─▶ all synced ─▶ record and
 *        │                                             └─ meanwhile the next stripe fills                   share on each,
 *        └─ ends within the first stripe: replicated m + 1 times instead                                    synced ─▶ told
 */
import { CairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { laterOf, type Submission } from '@cairn/store'
import { type Address, addressOf, digestOf, type Manifest, ManifestBuilder } from '@cairn/wire'
import { otherBytes, underReplicated } from '../errors.ts'
import type { ObjectPutResult, ObjectSink, PutRequest } from '../objects/object-writer.ts'
import type { WriteOutcome } from '../targets/target.ts'
import { encodeStripe } from './coding.ts'
import type { ShardDrives } from './shard-drives.ts'
import type { ShardTarget } from './shard-target.ts'
import { homesOf, padded, type StripeCode } from './stripe-core.ts'

/** How often a commit is begun again with a higher version. Each time it has heard of the highest there is. */
const ATTEMPTS_MAX = 5

export interface VersionCounter {
  next(): number
  observe(version: number): void
}

export interface StripeWriterOptions {
  readonly drives: ShardDrives
  readonly code: StripeCode
  readonly versions: VersionCounter
  /** Takes objects of less than one stripe. */
  readonly small: ObjectSink
}

export class StripeWriter implements ObjectSink {
  readonly #platform: Platform
  readonly #options: StripeWriterOptions

  constructor(platform: Platform, options: StripeWriterOptions) {
    this.#platform = platform
    this.#options = options
  }

  async put(request: PutRequest): Promise<ObjectPutResult> {
    const { code, small } = this.#options
    const upload = new StripedUpload(this.#platform, this.#options, request)
    // Filled in turn: one is placed while the next fills.
    const rooms = [0, 1].map(() => new Uint8Array(code.k * request.chunkSize))
    const next = (): Stripe => new Stripe(request.chunkSize, rooms[upload.stripes % 2] ?? NOTHING)
    let stripe = next()
    for await (const chunk of request.chunks) {
      stripe.add(chunk)
      if (!stripe.isFull) continue
      await upload.take(stripe)
      stripe = next()
    }
    if (upload.stripes === 0) return await small.put({ ...request, chunks: stripe.chunks })
    if (stripe.chunks.length > 0) await upload.take(stripe)
    return await upload.finish()
  }
}

/** Chunks on their way into one stripe; they are copied, since what was given is filled again. */
class Stripe {
  readonly chunks: Uint8Array[] = []
  readonly #chunkSize: number
  readonly #room: Uint8Array
  #bytes = 0

  constructor(chunkSize: number, room: Uint8Array) {
    this.#chunkSize = chunkSize
    this.#room = room
  }

  /** Of as many chunks as go in, none of them short. */
  get isFull(): boolean {
    return this.#bytes === this.#room.length
  }

  add(chunk: Uint8Array): void {
    const from = this.chunks.length * this.#chunkSize
    const room = this.#room.subarray(from, from + chunk.length)
    room.set(chunk)
    this.#bytes += chunk.length
    this.chunks.push(room)
  }
}

class StripedUpload {
  readonly #platform: Platform
  readonly #options: StripeWriterOptions
  readonly #request: PutRequest
  readonly #builder: ManifestBuilder
  /** What each drive was given, by hash. */
  readonly #shares = new Map<ShardTarget, Set<Address>>()
  /** What each drive wrote last. */
  readonly #last = new Map<ShardTarget, Submission>()
  readonly #parity: Uint8Array[] = []
  /** The stripe before, while this one fills. */
  #placing: Promise<void> = Promise.resolve()
  #newChunks = 0
  stripes = 0

  constructor(platform: Platform, options: StripeWriterOptions, request: PutRequest) {
    this.#platform = platform
    this.#options = options
    this.#request = request
    this.#builder = new ManifestBuilder(request.chunkSize)
  }

  /** Places the stripe while the next one fills; resolves when the one before is written. */
  async take({ chunks }: Stripe): Promise<void> {
    const ids = chunks.map((chunk) => this.#builder.add(chunk))
    this.stripes += 1
    await this.#placing
    this.#placing = this.#place(chunks, ids)
    // It is waited for with the next stripe, or at the end; until then its failure is nobody's surprise.
    this.#placing.catch(() => undefined)
  }

  async finish(): Promise<ObjectPutResult> {
    await this.#placing
    const { expected } = this.#request
    const built = this.#builder.finish()
    if (expected !== undefined && expected !== built.id) throw otherBytes(expected, built.id)
    if (built.kind === 'single') throw new CairnError('Internal', 'A striped object has at least one whole stripe.')
    // All shards before the first record: if the power goes between two of them, what the first one names is there.
    await Promise.all([...this.#last].map(async ([home, last]) => await home.settled(last)))
    const stored = await this.#commit(built.manifest)
    const { k, m } = this.#options.code
    const isNew = stored.every((each) => each === 'new')
    const copies = { made: k + m, wanted: k + m }
    return { address: built.id, size: built.size, isNew, newChunks: this.#newChunks, copies }
  }

  async #place(chunks: readonly Uint8Array[], ids: readonly Address[]): Promise<void> {
    const { drives, code } = this.#options
    const [first] = ids
    if (first === undefined) return
    const homes = homesOf(drives.writable(first), code.k + code.m)
    if (homes.length < code.k + code.m) throw underReplicated(homes.length, code.k + code.m)
    const length = chunks[0]?.length ?? 0
    const data = Array.from({ length: code.k }, (_, index) => padded(chunks[index] ?? NOTHING, length))
    const parity = await encodeStripe(this.#platform, data, code.m)
    const shards = [
      ...chunks.map((bytes, index) => ({ bytes, id: ids[index] ?? addressOf(bytes), home: homes[index] })),
      ...parity.map((bytes, index) => ({ bytes, id: addressOf(bytes), home: homes[code.k + index] })),
    ]
    this.#parity.push(...shards.slice(chunks.length).map(({ id }) => digestOf(id)))
    await Promise.all(
      shards.map(async ({ bytes, id, home }) => {
        if (home === undefined) return
        this.#shares.set(home, (this.#shares.get(home) ?? new Set()).add(id))
        const { fresh, last } = await home.write([bytes], this.#request.upload)
        this.#newChunks += fresh
        if (last !== undefined) this.#last.set(home, laterOf(this.#last.get(home), last))
      }),
    )
  }

  async #commit(manifest: Manifest): Promise<WriteOutcome[]> {
    const { versions } = this.#options
    for (let attempt = 1; ; attempt += 1) {
      const { version, generation } = await this.#encoding(manifest)
      const outcomes = await Promise.allSettled(
        [...this.#shares].map(
          async ([home, share]) => await this.#commitShare(home, share, manifest, version, generation),
        ),
      )
      const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
      const newer = failures.flatMap((error) => newerVersionOf(error) ?? [])
      if (failures.length === 0) return outcomes.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
      if (newer.length < failures.length || attempt === ATTEMPTS_MAX) throw failures[0]
      for (const each of newer) versions.observe(each)
    }
  }

  /** An object that is here already in the same code keeps its generation: its shards are the same, byte for byte. */
  async #encoding({ id, chunkSize }: Manifest): Promise<{ readonly version: number; readonly generation: number }> {
    const { drives, code, versions } = this.#options
    const known = await drives.find(id)
    if (known !== undefined) versions.observe(known.version)
    const version = versions.next()
    const { k, m, chunkSize: knownSize } = known?.shape ?? { ...code, chunkSize: 0 }
    const isSame = known !== undefined && k === code.k && m === code.m && knownSize === chunkSize
    return { version, generation: isSame ? known.generation : version }
  }

  async #commitShare(
    home: ShardTarget,
    share: ReadonlySet<Address>,
    manifest: Manifest,
    version: number,
    generation: number,
  ): Promise<WriteOutcome> {
    const { type, upload, owners } = this.#request
    const { k, m } = this.#options.code
    const { id, size, chunkSize } = manifest
    const parityIds = packed(this.#parity)
    const stripes = { k, m, generation, parityIds, share: packed([...share].map((each) => digestOf(each))) }
    return await home.commit({ id, size, type, chunkSize, manifest, upload, owners, version, stripes })
  }
}

const NOTHING = new Uint8Array(0)
const DIGEST_BYTES = 32

export function packed(digests: readonly Uint8Array[]): Uint8Array {
  const room = new Uint8Array(digests.length * DIGEST_BYTES)
  for (const [at, digest] of digests.entries()) room.set(digest, at * DIGEST_BYTES)
  return room
}

function newerVersionOf(error: unknown): number | undefined {
  return error instanceof CairnError && error.code === 'newer_version' ? Number(error.cause) : undefined
}
