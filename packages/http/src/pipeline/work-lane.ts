/** `work` routes through a service's queue: the listener submits, the service's workers run the handlers. */
import { type Job, type Queue, serveJobs, submit, type TaskContext } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import type { WorkLane } from './ingress.ts'

export type WorkItem = () => IngressResponse | Promise<IngressResponse>
export type WorkQueue = Queue<Job<WorkItem, IngressResponse>>

/** A full queue is `Busy` at once; time in the queue counts against the request's budget. */
export function queueLane(queue: WorkQueue): WorkLane {
  return async (context, run) => await submit(queue, run, { deadline: context.deadline, signal: context.signal })
}

/** The body of a worker of that queue. */
export async function serveWorkLane(queue: WorkQueue, context: TaskContext): Promise<void> {
  await serveJobs(queue, context, async (run) => await run())
}
