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
  type Deadline,
  isKind,
  type Job,
  openQueue,
  type Queue,
  type Runtime,
  serveJobs,
  submit,
  type TaskBody,
} from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import type { IndexConfig } from './config.ts'
import { createLoad, expectedWaitMs, type Load, noteService } from './domain/admission-core.ts'
import { type Finding, type Question, questionKey } from './domain/finding.ts'
import { type Bounds, Flights } from './domain/flights.ts'
import type { Resolver } from './domain/resolver.ts'
import { wouldWait } from './errors.ts'
import { INDEX_TOPOLOGY } from './topology.ts'

export interface Asking extends Bounds {
  /** Past what is kept. */
  readonly fresh?: boolean
}

export interface Answered {
  readonly finding: Finding
  /** From the cache, this long after it was found; otherwise found just now. */
  readonly cachedMs: number | undefined
}

export class Intake {
  readonly #runtime: Runtime
  readonly #config: () => IndexConfig
  readonly #resolver: Resolver
  readonly #flights = new Flights<Finding>()
  readonly #load: Load
  readonly queue: Queue<Job<Question, Finding>>

  constructor(runtime: Runtime, config: () => IndexConfig, resolver: Resolver) {
    this.#runtime = runtime
    this.#config = config
    this.#resolver = resolver
    this.#load = createLoad(config().workers)
    this.queue = openQueue(runtime, INDEX_TOPOLOGY, 'work', (job: Job<Question, Finding>) => job.cancel())
  }

  /** The answer if it is kept: nothing is waited for. */
  cached(question: Question): Answered | undefined {
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
  async lookUp(question: Question, { deadline, signal, fresh = false }: Asking): Promise<Answered> {
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

  async #submit(question: Question, bounds: Required<Bounds>): Promise<Finding> {
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

  async #serve(question: Question, { deadline, signal }: Job<Question, Finding>): Promise<Finding> {
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
