/** What runs inside a worker thread: one request at a time, one reply each. */
import { parentPort } from 'node:worker_threads'
import { failedReply, runTask } from './thread-reply.ts'
import type { ThreadRequest } from './worker-pool.ts'

/** Whoever starts a thread has loaded this file, and listens to nobody: what it compiled, the thread does not compile again. */
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
