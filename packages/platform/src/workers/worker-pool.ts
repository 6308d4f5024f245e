/**
 * A fixed number of places for threads, fed from one bounded queue.
 *
 *     run ─▶ queue ─┬─▶ place 1 ─▶ thread        a thread is made for the first job of its place and
 *      Busy if full ├─▶ place 2 ─▶ thread        kept; one that crashed, or was stopped because its
 *                   └─▶ place 3 ─▶ (none yet)    job ran out of time, is replaced for the next job
 *
 * What a thread is does not matter here: the simulator puts a function in its place.
 */
import {
  CairnError,
  Closeable,
  type Job,
  Queue,
  type Runtime,
  Scope,
  serveJobs,
  submit,
  type TaskContext,
} from '@cairn/kernel'
import type { WorkerOptions, Workers, WorkerTask } from './workers.ts'

/** What crosses to a thread. */
export interface ThreadRequest {
  readonly module: string
  readonly name: string
  readonly input: unknown
  readonly transfer: readonly ArrayBuffer[]
}

export interface Thread {
  /** False once it crashed or was stopped; then it is replaced. */
  readonly usable: boolean
  /** Runs one request; there is never a second one meanwhile. Stops the thread, and throws, when the signal fires. */
  run(request: ThreadRequest, signal: AbortSignal): Promise<unknown>
  /** Ends the thread and waits until it has. */
  stop(): Promise<void>
}

export interface WorkerPoolOptions {
  /** Of its queue, in the metrics. */
  readonly name: string
  readonly threads: number
  /** Jobs that may wait; one more is `Busy`. */
  readonly queueCapacity: number
  readonly makeThread: () => Thread
}

export class WorkerPool extends Closeable implements Workers {
  readonly #queue: Queue<Job<ThreadRequest, unknown>>
  readonly #scope: Scope
  readonly #aborting = new AbortController()

  constructor(runtime: Runtime, { name, threads, queueCapacity, makeThread }: WorkerPoolOptions) {
    super(runtime, name)
    this.#queue = new Queue(runtime, {
      name,
      capacity: queueCapacity,
      overflow: 'reject',
      onLost: (job) => job.cancel(),
    })
    this.#scope = new Scope(runtime, name)
    const { signal } = this.#aborting
    for (let place = 1; place <= threads; place += 1) {
      const task = `${name}-${place}`
      const context = { name: task, draining: signal, aborting: signal }
      this.#scope.spawn(task, async () => await this.#serve(context, makeThread))
    }
  }

  async run<Input, Output>(task: WorkerTask<Input, Output>, input: Input, options: WorkerOptions): Promise<Output> {
    const { module, name } = task
    const { transfer = [] } = options
    const output = await submit(this.#queue, { module: module.href, name, input, transfer }, options)
    // The task's own type says what its function returns; structured clone keeps it.
    return output as Output
  }

  protected override async release(): Promise<void> {
    this.#queue.abort()
    this.#aborting.abort(new CairnError('Canceled', 'The workers are closed.'))
    await this.#scope.join()
  }

  async #serve(context: TaskContext, makeThread: () => Thread): Promise<void> {
    let thread: Thread | undefined
    try {
      await serveJobs(this.#queue, context, async (request, job) => {
        if (thread?.usable !== true) {
          await thread?.stop()
          thread = makeThread()
        }
        return await thread.run(request, job.signal)
      })
    } catch (error) {
      if (!context.aborting.aborted) throw error
    } finally {
      await thread?.stop()
    }
  }
}
