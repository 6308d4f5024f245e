/**
 * Makes a copy of an object on a target: only what it lacks is sent, and it is hashed where it arrives.
 *
 *     which chunks do you lack? ─▶ runs of up to 1 MiB: read, paid for, sent, durable ─▶ … ─▶ commit
 */
import { CairnError, Deadline } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { ChunkBytes } from '@cairn/store'
import { type Address, chunkAddress } from '@cairn/wire'
import { partGone } from '../errors.ts'
import type { ObjectCopy, ObjectTarget, TargetCall, WriteOutcome } from '../targets/target.ts'

/** Chunks asked about at once. */
const ASK_MAX = 1024
const RUN_BYTES = 1024 * 1024
/** A commit reads and hashes all there is; at least so much of it in a second. */
const COMMIT_BYTES_PER_SECOND = 16 * 1024 * 1024
/** A commit that finds chunks gone is begun again this often. */
const COMMITS_MAX = 2

export interface CopyOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** The bytes of a chunk, proved. */
  readonly read: (chunk: Address) => Promise<ChunkBytes | undefined>
  /** Waits until so many bytes may be sent; they are, right after. */
  readonly pace?: (bytes: number) => Promise<void>
  /** How many are sent at once, if no chunk is larger. */
  readonly runBytes?: number
}

export async function copyObject(
  { clock }: Pick<Platform, 'clock'>,
  target: ObjectTarget,
  copy: ObjectCopy,
  options: CopyOptions,
): Promise<WriteOutcome> {
  const call = (extraMs = 0): TargetCall => ({
    deadline: Deadline.after(clock, options.timeoutMs + extraMs),
    signal: options.signal,
  })
  if (copy.manifest === undefined) return await copyWhole(target, copy, options, call())
  const commitMs = (copy.size / COMMIT_BYTES_PER_SECOND) * 1000
  for (let attempt = 1; ; attempt += 1) {
    await sendChunks(target, copy, options, call)
    try {
      return await target.commit(copy, call(commitMs))
    } catch (error) {
      const isGone = error instanceof CairnError && error.code === 'missing_chunks'
      if (!isGone || attempt === COMMITS_MAX) throw error
    }
  }
}

/** An object of one chunk: one request says all of it. */
async function copyWhole(
  target: ObjectTarget,
  { id, type, chunkSize, version, owners }: ObjectCopy,
  { read, pace }: CopyOptions,
  call: TargetCall,
): Promise<WriteOutcome> {
  using held = await read(id)
  if (held === undefined) throw partGone(id)
  await pace?.(held.bytes.length)
  return await target.put({ id, type, chunkSize, version, owners, bytes: held.bytes }, call)
}

async function sendChunks(
  target: ObjectTarget,
  { id, manifest, upload }: ObjectCopy,
  { read, pace, runBytes = RUN_BYTES }: CopyOptions,
  call: () => TargetCall,
): Promise<void> {
  const place = { object: id, upload }
  const count = manifest?.chunkCount ?? 1
  for (let from = 0; from < count; from += ASK_MAX) {
    const asked = new Set<Address>()
    for (let at = from; at < Math.min(count, from + ASK_MAX); at += 1)
      asked.add(manifest === undefined ? id : chunkAddress(manifest, at))
    const run = new SendBatch(runBytes, async (chunks, bytes) => {
      await pace?.(bytes)
      await target.putChunks(chunks, place, call())
    })
    for (const chunk of await target.missing([...asked], place, call())) {
      using held = await read(chunk)
      if (held === undefined) throw partGone(chunk)
      await run.add(held.bytes)
    }
    await run.flush()
  }
}

/** Collects chunks until there are enough for one request. */
class SendBatch {
  readonly #bytesMax: number
  readonly #send: (chunks: readonly Uint8Array[], bytes: number) => Promise<void>
  #chunks: Uint8Array[] = []
  #bytes = 0

  constructor(bytesMax: number, send: (chunks: readonly Uint8Array[], bytes: number) => Promise<void>) {
    this.#bytesMax = bytesMax
    this.#send = send
  }

  async add(chunk: Uint8Array): Promise<void> {
    if (this.#bytes + chunk.length > this.#bytesMax) await this.flush()
    // The buffer goes back to its pool; what waits to be sent is a copy.
    this.#chunks.push(chunk.slice())
    this.#bytes += chunk.length
  }

  async flush(): Promise<void> {
    if (this.#chunks.length === 0) return
    const chunks = this.#chunks
    const bytes = this.#bytes
    this.#chunks = []
    this.#bytes = 0
    await this.#send(chunks, bytes)
  }
}
