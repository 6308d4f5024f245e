/**
 * A request for work that waits in a queue, and the promise that it ends.
 *
 *     submit ─▶ queue ─▶ worker ─▶ done | failed
 *        │        │         └─▶ canceled by its own signal or deadline
 *        │        └─▶ canceled: dropped, discarded, or too late to start
 *        └─▶ Busy: never accepted
 */
import type { Queue } from '../channel/queue.ts'
import type { Lane, Take } from '../channel/queue-core.ts'
import { canceled } from '../channel/waiters.ts'
import type { Timer } from '../clock.ts'
import { CairnError, toCairnError } from '../errors.ts'
import { type Deadline, timedOut } from '../policy/deadline.ts'
import type { TaskContext } from './supervisor.ts'

export interface JobOptions {
  readonly deadline: Deadline
  /** The caller went away. */
  readonly signal?: AbortSignal | undefined
  readonly lane?: Lane
}

/** Accepted work: it ends exactly once, by its worker or by its caller. */
export class Job<Input, Output> {
  readonly input: Input
  readonly deadline: Deadline
  readonly #reply = Promise.withResolvers<Output>()
  readonly #caller: AbortSignal | undefined
  #timer: Timer | undefined
  /** Created when a worker asks for the signal: most work ends without one. */
  #controller: AbortController | undefined
  #failure: CairnError | undefined
  #ended = false

  constructor(input: Input, { deadline, signal }: JobOptions) {
    this.input = input
    this.deadline = deadline
    this.#caller = signal
    if (signal?.aborted === true) this.fail(canceled(signal))
    else if (deadline.expired) this.fail(timedOut('the request'))
    else {
      signal?.addEventListener('abort', this.#onCallerGone, { once: true })
      this.#timer = deadline.clock.timer(deadline.remaining(), () => this.fail(timedOut('the request')))
    }
  }

  readonly #onCallerGone = (): void => {
    if (this.#caller !== undefined) this.fail(canceled(this.#caller))
  }

  get result(): Promise<Output> {
    return this.#reply.promise
  }

  /** Fires when the job ended without being done: the caller left, the budget ran out, the service stopped. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#failure !== undefined) this.#controller.abort(this.#failure)
    return this.#controller.signal
  }

  get ended(): boolean {
    return this.#ended
  }

  done(output: Output): void {
    if (this.#end()) this.#reply.resolve(output)
  }

  fail(error: CairnError): void {
    if (!this.#end()) return
    this.#failure = error
    this.#controller?.abort(error)
    this.#reply.reject(error)
  }

  /** Fails the job with `Canceled`: no worker will take it. */
  cancel(): void {
    this.fail(
      new CairnError('Canceled', 'The service stopped before this was done; ask again.', { retryAfterMs: 1000 }),
    )
  }

  #end(): boolean {
    if (this.#ended) return false
    this.#ended = true
    this.#timer?.cancel()
    this.#timer = undefined
    this.#caller?.removeEventListener('abort', this.#onCallerGone)
    return true
  }
}

/** Puts work in the queue and waits for its end. Throws `Busy` at once when the queue is full, `Canceled` when it is closed. */
export async function submit<Input, Output>(
  queue: Queue<Job<Input, Output>>,
  input: Input,
  options: JobOptions,
): Promise<Output> {
  options.deadline.throwIfExpired(queue.name)
  const job = new Job<Input, Output>(input, options)
  const sent = queue.trySend(job, options.lane)
  if (sent === 'full')
    job.fail(new CairnError('Busy', `The ${queue.name} queue is full; try again soon.`, { retryAfterMs: 1000 }))
  if (sent === 'closed') job.cancel()
  return await job.result
}

export type JobHandler<Input, Output> = (input: Input, job: Job<Input, Output>) => Promise<Output>

/**
 * The body of a worker: takes jobs until the queue is closed and empty, or `aborting` fires. Draining
 * does not end it, so no accepted job is stranded; a job that ended while it waited is not started.
 */
export async function serveJobs<Input, Output>(
  queue: Queue<Job<Input, Output>>,
  context: TaskContext,
  handle: JobHandler<Input, Output>,
  take: Take = 'any',
): Promise<void> {
  const { aborting } = context
  let current: Job<Input, Output> | undefined
  context.busyWhen?.(() => current !== undefined)
  // One for all of its jobs: many workers share the signal, and each look through its listeners costs every job.
  const onAbort = (): void => current?.cancel()
  aborting.addEventListener('abort', onAbort, { once: true })
  try {
    for (;;) {
      const next = queue.tryReceive(take) ?? (await queue.recv({ signal: aborting, take }))
      if (next.tag === 'closed') return
      const job = next.item
      // The abort may have come in the same turn as the job: its listener would never hear it.
      if (aborting.aborted) job.cancel()
      if (job.ended) continue
      current = job
      try {
        job.done(await handle(job.input, job))
      } catch (error) {
        job.fail(toCairnError(error))
      }
      current = undefined
    }
  } finally {
    aborting.removeEventListener('abort', onAbort)
  }
}
