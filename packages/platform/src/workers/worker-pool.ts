/**
 * Runs work that would block the event loop for more than about 10 ms, on a fixed number of places for threads, fed
 * from one bounded queue.
 *
 *     run ─▶ queue ─┬─▶ place 1 ─┐               a place takes the thread that worked last, and makes one
 *      Busy if full ├─▶ place 2 ─┼─▶ threads     only if all are at work; one that crashed, or was stopped
 *                   └─▶ place 3 ─┘               because its job ran out of time, is replaced
 *
 * What a thread is does not matter here: the simulator puts a function in its place.
 */
import {
  CairnError,
  Closeable,
  type Deadline,
  type Job,
  Queue,
  type Runtime,
  Scope,
  serveJobs,
  submit,
  type TaskContext,
} from '@cairn/kernel'

/** One function a worker thread can run: a module that exports it by name. Inputs and outputs are structured-cloned. */
export interface WorkerTask<Input, Output> {
  readonly module: URL
  readonly name: string
  /** Never set; carries the types. */
  readonly types?: (input: Input) => Output | Promise<Output>
}

export interface WorkerOptions {
  readonly deadline: Deadline
  readonly signal?: AbortSignal | undefined
  /** Moved, not copied; the caller cannot use them any more. */
  readonly transfer?: readonly ArrayBuffer[]
}

export interface Workers {
  /**
   * Runs the task on a free thread. `Busy` when the queue is full. Past its deadline, or when the caller leaves, a
   * task that has begun loses its thread; one that has not is never begun. What the task throws is thrown here.
   */
  run<Input, Output>(task: WorkerTask<Input, Output>, input: Input, options: WorkerOptions): Promise<Output>
  /** Cancels what waits and what runs, and ends the threads. */
  close(): Promise<void>
}

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
  readonly #idle: Thread[] = []

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
    await Promise.all(this.#idle.map(async (thread) => await thread.stop()))
  }

  async #serve(context: TaskContext, makeThread: () => Thread): Promise<void> {
    try {
      await serveJobs(this.#queue, context, async (request, job) => {
        const thread = await this.#take(makeThread)
        try {
          return await thread.run(request, job.signal)
        } finally {
          this.#idle.push(thread)
        }
      })
    } catch (error) {
      if (!context.aborting.aborted) throw error
    }
  }

  /** The one that worked last, so that jobs one after the other need one thread, whichever place runs them. */
  async #take(makeThread: () => Thread): Promise<Thread> {
    const thread = this.#idle.pop()
    if (thread?.usable === true) return thread
    await thread?.stop()
    return makeThread()
  }
}
