/**
 * Chunks out of whichever copy is quickest.
 *
 *     in memory ─▶ out
 *     copies in order of what is expected of them ─▶ the first ── late ──▶ the second as well ─▶ whoever is first
 *                                                       └─ damaged, gone or failed ─▶ the next, until none is left
 */
import { CairnError, canceled, type HedgeLeg, type HedgeResult, hedge, isKind, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { ChunkBytes } from '@cairn/store'
import type { Address } from '@cairn/wire'
import { copiesAway, partGone, readFailed } from '../errors.ts'
import type { ChunkReadPurpose, ChunkSource } from '../objects/object-reader.ts'
import type { DriveTarget } from '../targets/drive-target.ts'
import type { ObjectTarget } from '../targets/target.ts'
import { expected, type HedgingCore, mayHedge, readBegins, readerWaited, targetTook } from './read-hedging-core.ts'
import type { RemoteObjects } from './remote-objects.ts'
import type { Replicas } from './replicas.ts'

/**
 * The result of work that cannot be stopped, for as long as anybody wants it: after an abort this rejects at once, and
 * what the work comes to in the end is handed to `late`.
 */
async function withAbort<T>(work: Promise<T>, signal: AbortSignal, late: (value: T) => void): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    let isAbandoned = false
    const abandon = (): void => {
      isAbandoned = true
      reject(canceled(signal))
    }
    if (signal.aborted) abandon()
    else signal.addEventListener('abort', abandon, { once: true })
    work.then(
      (value) => {
        signal.removeEventListener('abort', abandon)
        if (isAbandoned) late(value)
        else resolve(value)
      },
      (error: unknown) => {
        signal.removeEventListener('abort', abandon)
        reject(error instanceof Error ? error : new Error(String(error)))
      },
    )
  })
}

export interface CopyReaderOptions {
  readonly drives: readonly DriveTarget[]
  readonly remote: RemoteObjects
  readonly hedging: HedgingCore
  readonly isHedged: boolean
  /** A peer sent bytes that are not what it said they were. */
  readonly onDeceived: (target: ObjectTarget) => void
  /** A peer has no sound copy of what it says it has. */
  readonly onBadCopy: (object: Address) => void
}

type PartUse = Extract<ChunkReadPurpose, { readonly chunk: number }>

export class CopyReader implements ChunkSource {
  readonly #platform: Platform
  readonly #replicas: Replicas
  readonly #options: CopyReaderOptions

  constructor(platform: Platform, replicas: Replicas, options: CopyReaderOptions) {
    this.#platform = platform
    this.#replicas = replicas
    this.#options = options
  }

  cached(id: Address): ChunkBytes | undefined {
    for (const { drive } of this.#options.drives) {
      const held = drive.state.tag === 'open' ? drive.state.chunks.cached(id) : undefined
      if (held !== undefined) return held
    }
    const page = this.#options.remote.page(id)
    return page === undefined ? undefined : { bytes: page, [Symbol.dispose]: () => undefined }
  }

  async read(id: Address, use?: ChunkReadPurpose): Promise<ChunkBytes | undefined> {
    const cached = this.cached(id)
    if (cached !== undefined) return cached
    const { hedging } = this.#options
    const beganAt = this.#platform.clock.now()
    readBegins(hedging)
    const bytes = await this.#fromCopies(id, use, this.#candidates(id, use))
    readerWaited(hedging, this.#platform.clock.now() - beganAt)
    return bytes
  }

  /** Who may have it, the quickest first. A drive knows at once; a peer has to be asked. */
  #candidates(id: Address, use: ChunkReadPurpose | undefined): ObjectTarget[] {
    const now = this.#platform.clock.now()
    const holds = (target: ObjectTarget): boolean => {
      if (target.health().tag === 'down') return false
      const drive = this.#options.drives.find((each) => each === target)?.drive.state
      return drive === undefined || (drive.tag === 'open' && drive.storage.chunks.exists(id))
    }
    const candidates = this.#replicas.order(use?.object ?? id).filter(holds)
    const cost = new Map(candidates.map((target) => [target, this.#cost(target, now)]))
    return candidates.sort((a, b) => (cost.get(a) ?? 0) - (cost.get(b) ?? 0))
  }

  #cost({ identity }: ObjectTarget, now: number): number {
    // A peer that nothing is known of comes after every drive that is not slow.
    const atLeast = identity.kind === 'peer' ? 1 : 0
    return Math.max(atLeast, expected(this.#options.hedging, identity.id, now))
  }

  async #fromCopies(
    id: Address,
    use: ChunkReadPurpose | undefined,
    candidates: readonly ObjectTarget[],
  ): Promise<ChunkBytes | undefined> {
    const failures: CairnError[] = []
    const untried = [...candidates]
    while (untried.length > 0) {
      const [first, second] = untried
      if (first === undefined) break
      const isAsked = { second: false }
      try {
        const result = await this.#race(id, use, [first, second], isAsked, failures)
        if (result !== undefined) return result.answer
      } catch {
        // What each of them said is in `failures`.
      }
      untried.splice(0, isAsked.second ? 2 : 1)
    }
    const damaged = failures.find((error) => isKind(error, 'Integrity'))
    const away = this.#replicas.targets.filter((target) => target.health().tag === 'down').length
    // Whoever is away may have what nobody else has sound: then it is not lost.
    if (use !== undefined && away > 0 && failures.every(isOfNoUse)) throw copiesAway(away)
    if (damaged !== undefined) throw partGone(id)
    // A copy that turned out not to be there is no failure: with nothing else, there is none.
    const failure = failures.find(({ kind }) => kind !== 'NotFound')
    if (failure === undefined) return undefined
    throw isKind(failure, 'Internal') ? readFailed(failure) : failure
  }

  /** Asks the first, and the second when the first is late or has failed. */
  async #race(
    id: Address,
    use: ChunkReadPurpose | undefined,
    [first, second]: readonly [ObjectTarget, ObjectTarget | undefined],
    isAsked: { second: boolean },
    failures: CairnError[],
  ): Promise<HedgeResult<ChunkBytes> | undefined> {
    const { hedging, isHedged } = this.#options
    const state = { hasFirstFailed: false }
    const leg =
      (target: ObjectTarget): HedgeLeg<ChunkBytes> =>
      async (signal) => {
        try {
          return await this.#ask(target, id, use, signal)
        } catch (error) {
          if (!signal.aborted) failures.push(toCairnError(error))
          const isBad = isKind(error, 'Integrity') && target.identity.kind === 'peer'
          if (isBad && use !== undefined) this.#options.onBadCopy(use.object)
          if (target === first) state.hasFirstFailed = true
          throw error
        }
      }
    const late: HedgeLeg<ChunkBytes>[] = []
    if (second !== undefined)
      late.push(async (signal) => {
        // After a failure it is the next copy, not one more: only what is asked beside the first counts as extra.
        if (!state.hasFirstFailed && !(isHedged && mayHedge(hedging))) throw notAsked()
        isAsked.second = true
        if (!state.hasFirstFailed) this.#platform.metrics.count('hedged_reads_total')
        return await leg(second)(signal)
      })
    return await hedge(this.#platform.clock, { first: [leg(first)], second: late, delayMs: hedging.delayMs })
  }

  async #ask(
    target: ObjectTarget,
    id: Address,
    use: ChunkReadPurpose | undefined,
    signal: AbortSignal,
  ): Promise<ChunkBytes> {
    const { clock } = this.#platform
    const beganAt = clock.now()
    const took = (): void => targetTook(this.#options.hedging, target.identity.id, clock.now() - beganAt, clock.now())
    const asked = target.readChunk(id, this.#replicas.call(signal)).finally(took)
    const held = await withAbort(asked, signal, (late) => late?.[Symbol.dispose]())
    if (held === undefined) throw new CairnError('NotFound', `There is no chunk ${id} at this copy.`)
    // The chunk of an object of one chunk has its address: its name is its proof.
    if (target.identity.kind === 'drive' || use?.chunk === undefined || use.object === id) return held
    if (this.#isChunk(use, use.chunk, held.bytes)) return held
    held[Symbol.dispose]()
    this.#options.onDeceived(target)
    throw partGone(id)
  }

  #isChunk({ object, facts }: PartUse, chunk: number, bytes: Uint8Array): boolean {
    const { remote } = this.#options
    const isChunk = remote.isChunk(object, facts.chunkSize, chunk, bytes)
    if (isChunk !== undefined) return isChunk
    // The name of the chunk came from a list of this node, which was proved when the object was put.
    if (!remote.areRemote(facts)) return true
    throw new CairnError('StorageBusy', 'The list of chunks of this object was let go; ask again.', {
      code: 'read_failed',
      retryAfterMs: 1000,
    })
  }
}

/** There is no such copy here, or none that is sound. */
function isOfNoUse(error: CairnError): boolean {
  return isKind(error, 'Integrity') || isKind(error, 'NotFound')
}

function notAsked(): CairnError {
  return new CairnError('Busy', 'So many reads were late that no more of them are asked of a second copy.')
}
