/**
 * Fills under way, one for each key, through the queue `work`.
 *
 *     request ─▶ join ─┬─ first: a job in `work` ─▶ fill-worker ─▶ state: asking ─▶ growing ─▶ stored
 *                      └─ later: waits for the same state                  └─▶ private, failed
 *
 * A fill belongs to nobody: it ends when it is done, or when the last who waits for it has left.
 */
import {
  CairnError,
  Deadline,
  Job,
  openQueue,
  type Queue,
  type Runtime,
  serveJobs,
  type TaskBody,
  toCairnError,
  Watch,
} from '@cairn/kernel'
import type { EdgeConfig } from '../config.ts'
import { EDGE_TOPOLOGY } from '../topology.ts'
import { giveUp } from './ask-upstream.ts'
import { Fill, type FillState, type FillWork } from './fill.ts'
import { type Flights, join, land, leave, outdate } from './flights-core.ts'

/** How long a key whose answers are private is not waited for together (hit-for-miss). */
const UNSHARED_MS = 10_000
const UNSHARED_KEYS_MAX = 10_000
const MEAN_WEIGHT = 0.1
const RETRY_AFTER_MS = { min: 1_000, max: 30_000 }

/** A place among those who wait for a fill; disposing of it twice leaves once. */
export interface Joined extends Disposable {
  readonly fill: Fill
  readonly isFirst: boolean
}

export class Fills {
  readonly queue: Queue<Job<Fill, void>>
  /** How many fills were refused because the queue was full. */
  readonly sheds = new Watch(0)
  readonly #runtime: Runtime
  readonly #config: () => EdgeConfig
  readonly #flights: Flights<Fill> = new Map()
  /** Fills under way that nobody can join. */
  readonly #alone = new Set<Fill>()
  /** Until when, on the monotonic clock. */
  readonly #unshared = new Map<string, number>()
  #meanMs = 100

  constructor(runtime: Runtime, config: () => EdgeConfig) {
    this.#runtime = runtime
    this.#config = config
    this.queue = openQueue(runtime, EDGE_TOPOLOGY, 'work', (job: Job<Fill, void>) => job.cancel())
  }

  /** Joins the fill of this key, or begins it: `Busy` at once when `work` is full. */
  join(key: string, route: string, work: FillWork): Joined {
    const { flight, isFirst } = join(this.#flights, key, () => new Fill(key, route, work))
    const joined = this.#place(flight, isFirst)
    if (!isFirst) {
      this.#runtime.metrics.count('edge_fill_followers_total', { route })
      return joined
    }
    return this.#launch(joined)
  }

  /** A fill of one's own, that nobody joins. */
  alone(key: string, route: string, work: FillWork): Joined {
    const fill = new Fill(key, route, work)
    fill.waiting = 1
    this.#alone.add(fill)
    return this.#launch(this.#place(fill, true))
  }

  /** Fills in the background; nobody waits, and nobody hears of it. A drain gives it up, unless somebody has joined. */
  background(key: string, route: string, work: FillWork, draining: AbortSignal): void {
    if (this.#flights.has(key)) return
    let joined: Joined
    try {
      joined = this.join(key, route, work)
    } catch {
      // Too busy for what nobody waits for.
      return
    }
    joined.fill.state.until(isFinal, { signal: draining }).then(
      () => joined[Symbol.dispose](),
      () => joined[Symbol.dispose](),
    )
  }

  /** What is stored under this key has become invalid, and so has what is on its way there. */
  invalidate(key: string): number {
    const isConcerned = (flying: string): boolean => flying === key || flying.startsWith(`${key}\n`)
    const alone = [...this.#alone].filter((fill) => !fill.isOutdated && isConcerned(fill.key))
    for (const fill of alone) fill.isOutdated = true
    return alone.length + outdate(this.#flights, isConcerned)
  }

  get flying(): number {
    return this.#flights.size
  }

  /** Answers of this key are private: waiting for each other's would only cost time. */
  markUnshared(key: string): void {
    this.#unshared.delete(key)
    this.#unshared.set(key, this.#runtime.clock.now() + UNSHARED_MS)
    if (this.#unshared.size <= UNSHARED_KEYS_MAX) return
    const [oldest] = this.#unshared.keys()
    if (oldest !== undefined) this.#unshared.delete(oldest)
  }

  markShared(key: string): void {
    this.#unshared.delete(key)
  }

  isUnshared(key: string): boolean {
    const until = this.#unshared.get(key)
    return until !== undefined && until > this.#runtime.clock.now()
  }

  readonly worker: TaskBody = async (context) => {
    await serveJobs(this.queue, context, async (fill, job) => await this.#run(fill, job.signal))
  }

  async #run(fill: Fill, signal: AbortSignal): Promise<void> {
    const { clock } = this.#runtime
    const beganAt = clock.now()
    await fill.work(fill, signal)
    this.#meanMs += MEAN_WEIGHT * (clock.now() - beganAt - this.#meanMs)
  }

  #place(fill: Fill, isFirst: boolean): Joined {
    let isHere = true
    return {
      fill,
      isFirst,
      [Symbol.dispose]: () => {
        if (!isHere) return
        isHere = false
        if (isFirst) dropPrivate(fill)
        if (leave(this.#flights, fill) === 'abandoned') fill.abandon()
        if (fill.waiting === 0) fill.left()
      },
    }
  }

  #launch(joined: Joined): Joined {
    const { fill } = joined
    const deadline = Deadline.after(this.#runtime.clock, this.#config().fill_body_timeout)
    const job = new Job<Fill, void>(fill, { deadline, signal: fill.signal })
    job.result.then(
      () => this.#landed(fill),
      (error: unknown) => this.#failed(fill, toCairnError(error)),
    )
    const sent = this.queue.trySend(job)
    if (sent === 'sent') return joined
    const refusal = sent === 'full' ? this.#busy() : draining()
    job.fail(refusal)
    land(this.#flights, fill)
    joined[Symbol.dispose]()
    if (sent === 'full') this.sheds.set(this.sheds.value + 1)
    throw refusal
  }

  #landed(fill: Fill): void {
    this.#alone.delete(fill)
    land(this.#flights, fill)
  }

  #failed(fill: Fill, error: CairnError): void {
    this.#landed(fill)
    if (!isFinal(fill.state.value)) fill.state.set({ tag: 'failed', error })
  }

  /** When the line as it is will have been served. */
  #busy(): CairnError {
    const { depth } = this.queue
    const waitMs = (depth * this.#meanMs) / this.#config().workers
    const retryAfterMs = Math.min(RETRY_AFTER_MS.max, Math.max(RETRY_AFTER_MS.min, waitMs))
    return new CairnError('Busy', `${depth} fills are in line; try again when some are done.`, { retryAfterMs })
  }
}

/** A private answer whose owner has left is nobody's. */
function dropPrivate(fill: Fill): void {
  const answer = fill.takePrivate()
  if (answer !== undefined) giveUp(answer)
}

export function isFinal(state: FillState): boolean {
  return state.tag !== 'asking' && state.tag !== 'growing'
}

function draining(): CairnError {
  return new CairnError('Canceled', 'The service is shutting down; ask another one, or again soon.', {
    code: 'draining',
    retryAfterMs: 1000,
  })
}
