/** The `work` queue of the service: reads and writes in one bounded line, each with a pool of its own. */
import {
  type Deadline,
  type Job,
  type Lane,
  openQueue,
  type Queue,
  type Runtime,
  serveJobs,
  submit,
  type TaskBody,
  type TaskContext,
} from '@cairn/kernel'
import { STORAGE_TOPOLOGY } from './topology.ts'

type DiskWorkItem = () => Promise<unknown>

/** What bounds a piece of work: a request's context has both. */
export interface DiskWorkBounds {
  readonly deadline: Deadline
  readonly signal: AbortSignal
}

export class DiskWorkPool {
  readonly queue: Queue<Job<DiskWorkItem, unknown>>

  constructor(runtime: Runtime) {
    this.queue = openQueue(runtime, STORAGE_TOPOLOGY, 'work', (job: Job<DiskWorkItem, unknown>) => job.cancel())
  }

  /** Runs `item` in the pool of reads. `Busy` at once if the queue is full. */
  async read<T>(item: () => Promise<T>, bounds: DiskWorkBounds): Promise<T> {
    return (await this.#run(item, bounds, 'urgent')) as T
  }

  /** Runs `item` in the pool of writes. */
  async write<T>(item: () => Promise<T>, bounds: DiskWorkBounds): Promise<T> {
    return (await this.#run(item, bounds, 'normal')) as T
  }

  readonly getWorker: TaskBody = async (context) => await this.#serve(context, 'urgent')

  readonly putWorker: TaskBody = async (context) => await this.#serve(context, 'normal')

  async #serve(context: TaskContext, lane: Lane): Promise<void> {
    const handle = async (item: DiskWorkItem, job: Job<DiskWorkItem, unknown>): Promise<unknown> => {
      const output = await item()
      // Whoever asked has left or run out of time: nobody else would let go of what was read for them.
      if (job.ended) disposeOutput(output)
      return output
    }
    await serveJobs(this.queue, context, handle, lane)
  }

  async #run(item: DiskWorkItem, { deadline, signal }: DiskWorkBounds, lane: Lane): Promise<unknown> {
    return await submit(this.queue, item, { deadline, signal, lane })
  }
}

function disposeOutput(output: unknown): void {
  if (typeof output !== 'object' || output === null || !(Symbol.dispose in output)) return
  const { [Symbol.dispose]: dispose } = output
  if (typeof dispose === 'function') dispose.call(output)
}
