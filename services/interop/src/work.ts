/** The `work` queue: verified webhooks in their reserved lane, puts in the other, one pool of workers for both. */
import {
  type Deadline,
  type Job,
  openQueue,
  type Queue,
  type Runtime,
  serveJobs,
  submit,
  type TaskBody,
} from '@cairn/kernel'
import { INTEROP_TOPOLOGY } from './topology.ts'

type InteropWorkItem = () => Promise<unknown>

/** What bounds a piece of work. */
export interface InteropWorkBounds {
  readonly deadline: Deadline
  readonly signal: AbortSignal
}

export class InteropWorkPool {
  readonly #queue: Queue<Job<InteropWorkItem, unknown>>

  constructor(runtime: Runtime) {
    this.#queue = openQueue(runtime, INTEROP_TOPOLOGY, 'work', (job: Job<InteropWorkItem, unknown>) => job.cancel())
  }

  /** A webhook that is genuine: it uses what is reserved. `Busy` at once if even that is full. */
  async webhook<T>(item: () => Promise<T>, { deadline, signal }: InteropWorkBounds): Promise<T> {
    return (await submit(this.#queue, item, { deadline, signal, lane: 'urgent' })) as T
  }

  async put<T>(item: () => Promise<T>, { deadline, signal }: InteropWorkBounds): Promise<T> {
    return (await submit(this.#queue, item, { deadline, signal, lane: 'normal' })) as T
  }

  readonly worker: TaskBody = async (context) => {
    await serveJobs(this.#queue, context, async (item) => await item())
  }

  /** How full it is, 0 to 1. */
  get ratio(): number {
    return this.#queue.depth / this.#queue.capacity
  }

  close(): void {
    this.#queue.close()
  }

  abort(): number {
    return this.#queue.abort()
  }
}
