/** Work that would hold up the event loop for more than about 10 ms, on threads, behind a bounded queue. */
import type { Deadline } from '@cairn/kernel'

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
