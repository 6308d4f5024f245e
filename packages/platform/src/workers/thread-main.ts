/** What runs inside a worker thread: one request at a time, one reply each. */
import { parentPort } from 'node:worker_threads'
import { failedReply, runTask } from './thread-reply.ts'
import type { ThreadRequest } from './worker-pool.ts'

/** A pool imports this file, where there is no parent port to serve, so that a thread need not compile it again. */
export const THREAD_MAIN = new URL(import.meta.url)

parentPort?.on('message', ({ module, name, input }: Omit<ThreadRequest, 'transfer'>) => {
  runTask(module, name, input).then(
    (reply) => {
      try {
        parentPort?.postMessage(reply)
      } catch (error) {
        // The output holds something that cannot be cloned.
        parentPort?.postMessage(failedReply(error))
      }
    },
    () => undefined,
  )
})
