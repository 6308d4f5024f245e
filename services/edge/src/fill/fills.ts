/**
 * Fills under way, one for each key, through the queue `work`.
 *
 *     request ─▶ join ─┬─ first: a job in `work` ─▶ fill-worker ─▶ state: asking ─▶ growing ─▶ stored
 *                      └─ later: waits for the same state                  └─▶ private, failed
 *
 * A fill belongs to nobody: it ends when it is done, or when the last who waits for it has left.
 *
 * A request that would wait for a worker longer than it has time is refused at once; one that is in line already, as
 * soon as the fills before it show that it will not be answered in time. Neither ends in a 504 that takes all its budget.
 */
import {
  CairnError,
  Cancel,
  Deadline,
  Job,
  openQueue,
  type Queue,
  type Runtime,
  serveJobs,
  type TaskBody,
  type Timer,
  toCairnError,
  Watch,
} from '@cairn/kernel'
import type { EdgeConfig } from '../config.ts'
import { EDGE_TOPOLOGY } from '../topology.ts'
import { giveUp } from './ask-upstream.ts'
import { Fill, type FillState, type FillWork } from './fill.ts'
import { createFlights, depart, join, land, leave, outdate } from './flights-core.ts'
import { begin, createLoad, end, expectedWaitMs, headerCame, isTooLate } from './load-core.ts'

/** How long a key whose answers are private is not waited for together (hit-for-miss). */
const UNSHARED_MS = 10_000
const UNSHARED_KEYS_MAX = 10_000
const RETRY_AFTER_MS = { min: 1_000, max: 30_000 }
/** How often fills in line are looked at again. */
const LOOK_MS = 100

/** Of which key, for which route, and how. */
export interface FillOrder {
  readonly key: string
  readonly route: string
  readonly work: FillWork
}

/** A place among those who wait for a fill; disposing of it twice leaves once. */
export interface Joined extends Disposable {
  readonly fill: Fill
  readonly isFirst: boolean
}

export class Fills {
  readonly queue: Queue<Job<Fill, void>>
  /** How many requests were refused because too much was under way. */
  readonly sheds = new Watch(0)
  readonly #runtime: Runtime
  readonly #config: () => EdgeConfig
  readonly #flights = createFlights<Fill>()
  /** Until when, on the monotonic clock. */
  readonly #unshared = new Map<string, number>()
  readonly #load = createLoad()
  /** Fills without a worker, first come first. The queue may still hold jobs of those that were given up. */
  readonly #inLine = new Map<Fill, Job<Fill, void>>()
  #looking: Timer | undefined

  constructor(runtime: Runtime, config: () => EdgeConfig) {
    this.#runtime = runtime
    this.#config = config
    this.queue = openQueue(runtime, EDGE_TOPOLOGY, 'work', (job: Job<Fill, void>) => job.cancel())
  }

  /**
   * Joins the fill of this key, or begins it. `Busy` at once when `work` is full, or when the fill could not have its
   * header within `leftMs`. A fill that has its header is joined only if `mayShare` says that this answer may be reused.
   */
  join(order: FillOrder, leftMs: number, mayShare: (state: FillState) => boolean = () => true): Joined {
    const mayJoin = ({ state }: Fill): boolean => state.value.tag === 'asking' || mayShare(state.value)
    const { flight, isFirst } = join(this.#flights, order.key, () => new Fill(order), mayJoin)
    const joined = this.#place(flight, isFirst)
    if (isFirst) return this.#launch(joined, leftMs)
    this.#refuseLate(joined, leftMs)
    this.#runtime.metrics.count('edge_fill_followers_total', { route: order.route })
    return joined
  }

  /** A fill of one's own, that nobody joins. */
  alone(order: FillOrder, leftMs: number): Joined {
    const fill = new Fill(order)
    depart(this.#flights, fill)
    return this.#launch(this.#place(fill, true), leftMs)
  }

  /** Fills in the background; nobody waits, and nobody hears of it. A drain gives it up, unless somebody has joined. */
  background(order: FillOrder, draining: AbortSignal): void {
    if (this.#flights.byKey.has(order.key)) return
    let joined: Joined
    try {
      joined = this.join(order, this.#config().fill_timeout)
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
    return outdate(this.#flights, (flying) => flying === key || flying.startsWith(`${key}\n`))
  }

  /** The fill of this key that has everything and only waits for the disk. */
  settling(key: string): Fill | undefined {
    const fill = this.#flights.byKey.get(key)
    if (fill === undefined || isFinal(fill.state.value)) return undefined
    return fill.isWhole || hasAll(fill.state.value) ? fill : undefined
  }

  get flying(): number {
    return this.#flights.byKey.size
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
    this.#inLine.delete(fill)
    const running = begin(this.#load, clock.now())
    using watching = new Cancel({ signals: [signal] })
    fill.state
      .until(({ tag }) => tag !== 'asking', { signal: watching.signal })
      .then(
        () => headerCame(this.#load, running, clock.now()),
        () => {},
      )
    try {
      await fill.work(fill, signal)
    } finally {
      end(this.#load, running, clock.now(), !signal.aborted)
      watching.abort()
    }
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

  #launch(joined: Joined, leftMs: number): Joined {
    const { fill } = joined
    const { clock } = this.#runtime
    this.#refuseLate(joined, leftMs)
    const deadline = Deadline.after(clock, this.#config().fill_body_timeout)
    const job = new Job<Fill, void>(fill, { deadline, signal: fill.signal })
    job.result.then(
      () => this.#landed(fill),
      (error: unknown) => {
        this.#landed(fill)
        if (!isFinal(fill.state.value)) fill.state.set({ tag: 'failed', error: toCairnError(error) })
      },
    )
    const sent = this.queue.trySend(job)
    if (sent === 'sent') {
      if (!job.ended) this.#line(fill, job)
      return joined
    }
    const refusal = sent === 'full' ? this.#busy(this.#inLine.size) : draining()
    job.fail(refusal)
    land(this.#flights, fill)
    joined[Symbol.dispose]()
    if (sent === 'full') this.shed()
    throw refusal
  }

  #landed(fill: Fill): void {
    this.#inLine.delete(fill)
    land(this.#flights, fill)
  }

  /** Until a worker takes it. */
  #line(fill: Fill, job: Job<Fill, void>): void {
    this.#inLine.set(fill, job)
    this.#looking ??= this.#runtime.clock.timer(LOOK_MS, this.#look)
  }

  /** Something was refused because too much is under way. */
  shed(): void {
    this.sheds.set(this.sheds.value + 1)
  }

  /** Fills in line, without those that were given up. */
  get waiting(): number {
    return this.#inLine.size
  }

  #refuseLate(joined: Joined, leftMs: number): void {
    const { fill } = joined
    const now = this.#runtime.clock.now()
    const ahead = this.#aheadOf(joined)
    if (ahead !== undefined && isTooLate(this.#load, this.#config().workers, ahead, leftMs, now)) {
      const refusal = this.#busy(ahead)
      if (joined.isFirst) land(this.#flights, fill)
      joined[Symbol.dispose]()
      this.shed()
      throw refusal
    }
    fill.wantedUntil = Math.max(fill.wantedUntil, now + leftMs)
  }

  /** How many fills are in line before this one; nothing if it has a worker. */
  #aheadOf({ fill, isFirst }: Joined): number | undefined {
    if (isFirst) return this.#inLine.size
    if (!this.#inLine.has(fill)) return undefined
    let ahead = 0
    for (const other of this.#inLine.keys()) {
      if (other === fill) return ahead
      ahead += 1
    }
    return undefined
  }

  /** Gives up what is in line and will not be answered in time, as it looks now. */
  readonly #look = (): void => {
    this.#looking = undefined
    const now = this.#runtime.clock.now()
    let ahead = 0
    for (const [fill, job] of this.#inLine) {
      if (!isTooLate(this.#load, this.#config().workers, ahead, fill.wantedUntil - now, now)) {
        ahead += 1
        continue
      }
      job.fail(this.#busy(ahead))
      this.#inLine.delete(fill)
      this.shed()
    }
    if (ahead > 0) this.#looking = this.#runtime.clock.timer(LOOK_MS, this.#look)
  }

  /** Nothing is begun any more. */
  close(): void {
    this.queue.abort()
    this.#looking?.cancel()
    this.#looking = undefined
  }

  /** When the line as it is will have been served. */
  #busy(ahead: number): CairnError {
    const waitMs = expectedWaitMs(this.#load, this.#config().workers, ahead, this.#runtime.clock.now())
    const retryAfterMs = Math.min(RETRY_AFTER_MS.max, Math.max(RETRY_AFTER_MS.min, waitMs))
    const detail = `${ahead} fills are in line, and this one would come too late; try again when some are done.`
    return new CairnError('Busy', detail, { retryAfterMs })
  }
}

/** A private answer whose owner has left is nobody's. */
function dropPrivate(fill: Fill): void {
  const answer = fill.takePrivate()
  if (answer !== undefined) giveUp(answer)
}

/** Every byte that was announced has come; its readers know that it is over before the fill does. */
function hasAll(state: FillState): boolean {
  if (state.tag !== 'growing') return false
  const { length, body } = state.growth
  return length !== undefined && body.length >= length
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
