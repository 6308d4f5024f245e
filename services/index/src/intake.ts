/**
 * From a question to a worker, or a refusal at once.
 *
 *     question ─▶ cache ─┬─▶ answer
 *                        └─▶ flight of the same question ─┬─▶ under way: wait with the others
 *                                                         └─▶ new: expected wait ≤ budget? ─▶ work ─▶ resolver-worker
 *                                                                       └─▶ 429 now          └─▶ full: 429
 *
 * The budget begins here: time in the queue counts.
 */
import {
  Cancel,
  type Deadline,
  isKind,
  type Job,
  openQueue,
  type Queue,
  type Runtime,
  serveJobs,
  submit,
  type TaskBody,
  TokenBucket,
} from '@cairn/kernel'
import { abortable } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import type { IndexConfig } from './config.ts'
import { createWorkerLoad, expectedWaitMs, noteService, type WorkerLoad } from './domain/admission-core.ts'
import { type LookupQuestion, type LookupResult, questionKey } from './domain/lookup.ts'
import type { Resolver } from './domain/resolver.ts'
import { overQuota, routeFull, wouldWait } from './errors.ts'
import { INDEX_TOPOLOGY } from './topology.ts'

// How many requests of one route may wait for lookups at once, and how many there may be in a minute.

export type LookupRoute = 'resolve' | 'providers' | 'routing'

/** What a lookup costs in a bucket that counts in sixtieths: buckets refill by the second, quotas are by the minute. */
const COST = 60

interface Quota {
  readonly perMinute: number
  readonly bucket: TokenBucket | undefined
}

export class LookupAdmission {
  readonly #runtime: Runtime
  readonly #config: () => IndexConfig
  readonly #inside: Record<LookupRoute, number> = { resolve: 0, providers: 0, routing: 0 }
  readonly #quotas = new Map<'resolves' | 'provider lookups', Quota>()

  constructor(runtime: Runtime, config: () => IndexConfig) {
    this.#runtime = runtime
    this.#config = config
  }

  /** A place that must be given back, or `Busy`. */
  enter(route: LookupRoute): Disposable {
    const { limits } = this.#config()
    if (this.#inside[route] >= limits.max_per_route) {
      this.#runtime.metrics.count('admission_rejections_total', { reason: 'route' })
      throw routeFull(limits.max_per_route)
    }
    this.#inside[route] += 1
    return {
      [Symbol.dispose]: () => {
        this.#inside[route] -= 1
      },
    }
  }

  /** Counts one question against the minute's quota, cached or not. */
  take(route: LookupRoute): void {
    const { resolves_per_minute: resolves, providers_per_minute: providers } = this.#config().limits
    if (route === 'resolve') this.#takeFrom('resolves', resolves)
    else this.#takeFrom('provider lookups', providers)
  }

  #takeFrom(what: 'resolves' | 'provider lookups', perMinute: number): void {
    if (perMinute === 0) return
    const bucket = this.#bucket(what, perMinute)
    if (bucket === undefined || bucket.tryTake(COST)) return
    this.#runtime.metrics.count('admission_rejections_total', { reason: 'quota' })
    throw overQuota(what, perMinute, bucket.waitMs(COST))
  }

  /** A new limit begins with a full bucket. */
  #bucket(what: 'resolves' | 'provider lookups', perMinute: number): TokenBucket | undefined {
    const known = this.#quotas.get(what)
    if (known?.perMinute === perMinute) return known.bucket
    const bucket = new TokenBucket(this.#runtime.clock, { rate: perMinute, burst: COST * perMinute })
    this.#quotas.set(what, { perMinute, bucket })
    return bucket
  }
}

export interface LookupRequest extends LookupBounds {
  /** Past what is kept. */
  readonly fresh?: boolean
}

export interface Answered {
  readonly finding: LookupResult
  /** From the cache, this long after it was found; otherwise found just now. */
  readonly cachedMs: number | undefined
}

export class LookupIntake {
  readonly #runtime: Runtime
  readonly #config: () => IndexConfig
  readonly #resolver: Resolver
  readonly #flights = new SharedLookups<LookupResult>()
  readonly #load: WorkerLoad
  readonly queue: Queue<Job<LookupQuestion, LookupResult>>

  constructor(runtime: Runtime, config: () => IndexConfig, resolver: Resolver) {
    this.#runtime = runtime
    this.#config = config
    this.#resolver = resolver
    this.#load = createWorkerLoad(config().workers)
    this.queue = openQueue(runtime, INDEX_TOPOLOGY, 'work', (job: Job<LookupQuestion, LookupResult>) => job.cancel())
  }

  /** The answer if it is kept: nothing is waited for. */
  cached(question: LookupQuestion): Answered | undefined {
    const kept = this.#resolver.cached(question)
    const { metrics } = this.#runtime
    metrics.count(kept === undefined ? 'index_cache_misses_total' : 'index_cache_hits_total')
    return kept === undefined ? undefined : { finding: kept.finding, cachedMs: kept.ageMs }
  }

  /** How many are known to hold an address, without asking anybody. */
  known(cid: Address): number {
    const finding = this.#resolver.cached({ tag: 'providers', cid })?.finding
    return finding?.tag === 'providers' ? finding.providers.length : 0
  }

  /** Looks the question up within the budget, together with everybody who asks the same now. */
  async lookUp(question: LookupQuestion, { deadline, signal, fresh = false }: LookupRequest): Promise<Answered> {
    const bounds = { deadline: deadline.child(this.#config().dht.deadline), signal }
    // What was begun before a fresh question came may have been answered from what is no longer so.
    const key = `${fresh ? 'fresh ' : ''}${questionKey(question)}`
    try {
      const finding = await this.#flights.join(key, bounds, async (flight) => await this.#submit(question, flight))
      return { finding, cachedMs: undefined }
    } catch (error) {
      if (isKind(error, 'Timeout')) {
        this.#runtime.metrics.count('io_timeouts_total', { op: 'lookup' })
        this.#runtime.metrics.count('resolve_deadline_hit')
      }
      throw error
    }
  }

  /** The body of a resolver worker. */
  readonly worker: TaskBody = async (context) => {
    await serveJobs(this.queue, context, async (question, job) => await this.#serve(question, job))
  }

  /** Lookups that wait for a worker, and lookups that have one. */
  facts(): { readonly waiting: number; readonly working: number; readonly expectedWaitMs: number } {
    const { depth } = this.queue
    return { waiting: depth, working: this.#load.busy, expectedWaitMs: expectedWaitMs(this.#load, depth) }
  }

  async #submit(question: LookupQuestion, bounds: Required<LookupBounds>): Promise<LookupResult> {
    this.#refuseLate(bounds.deadline)
    try {
      return await submit(this.queue, question, bounds)
    } catch (error) {
      if (isKind(error, 'Busy')) this.#runtime.metrics.count('admission_rejections_total', { reason: 'queue' })
      throw error
    }
  }

  #refuseLate(deadline: Deadline): void {
    const waitMs = expectedWaitMs(this.#load, this.queue.depth)
    const leftMs = deadline.remaining()
    // Whoever does not wait may try, however long lookups take; whoever does needs the time of one after it as well.
    if (waitMs === 0 || waitMs + this.#load.serviceMs <= leftMs) return
    this.#runtime.metrics.count('admission_rejections_total', { reason: 'wait' })
    throw wouldWait(waitMs, leftMs)
  }

  async #serve(
    question: LookupQuestion,
    { deadline, signal }: Job<LookupQuestion, LookupResult>,
  ): Promise<LookupResult> {
    const { clock } = this.#runtime
    const startedAt = clock.now()
    this.#load.busy += 1
    try {
      return await this.#resolver.find(question, deadline, signal)
    } finally {
      this.#load.busy -= 1
      noteService(this.#load, clock.now() - startedAt, !signal.aborted)
    }
  }
}

// * One lookup for everybody who asks the same at the same time.
//
//     request 1 ─┐
//     request 2 ─┼─▶ flight ─▶ one lookup ─▶ the same answer, or the same error, for all of them
//     request 3 ─┘      └─ nobody waits any more: the lookup is aborted

export interface LookupBounds {
  readonly deadline: Deadline
  /** The caller went away. */
  readonly signal?: AbortSignal | undefined
}

interface SharedLookup<T> {
  readonly key: string
  readonly result: Promise<T>
  readonly cancel: Cancel
  waiting: number
}

export class SharedLookups<T> {
  readonly #open = new Map<string, SharedLookup<T>>()

  get size(): number {
    return this.#open.size
  }

  /** The answer of the flight under way for `key`, or of a new one within the bounds of its first caller. */
  async join(key: string, bounds: LookupBounds, start: (bounds: Required<LookupBounds>) => Promise<T>): Promise<T> {
    for (;;) {
      const joined = this.#open.get(key)
      const flight = joined ?? this.#begin(key, bounds.deadline, start)
      try {
        return await this.#wait(flight, bounds.signal)
      } catch (error) {
        // Another caller's time ran out, not ours: ask again with what is left of ours.
        const isTheirs = joined !== undefined && isKind(error, 'Timeout') && bounds.signal?.aborted !== true
        if (!isTheirs || bounds.deadline.expired) throw error
      }
    }
  }

  #begin(key: string, deadline: Deadline, start: (bounds: Required<LookupBounds>) => Promise<T>): SharedLookup<T> {
    const cancel = new Cancel({})
    const result = Promise.try(start, { deadline, signal: cancel.signal })
    const flight = { key, result, cancel, waiting: 0 }
    this.#open.set(key, flight)
    const over = (): void => {
      this.#forget(flight)
    }
    result.then(over, over)
    return flight
  }

  async #wait(flight: SharedLookup<T>, signal: AbortSignal | undefined): Promise<T> {
    flight.waiting += 1
    try {
      return signal === undefined ? await flight.result : await abortable(signal, flight.result)
    } finally {
      flight.waiting -= 1
      // No caller is left. The next one begins a new flight instead of joining one that is being aborted.
      if (flight.waiting === 0 && this.#forget(flight)) flight.cancel.abort()
    }
  }

  #forget(flight: SharedLookup<T>): boolean {
    return this.#open.get(flight.key) === flight && this.#open.delete(flight.key)
  }
}
