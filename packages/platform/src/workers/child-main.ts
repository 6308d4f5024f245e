/** What runs inside a child process: one request at a time, one reply each; it ends with its parent. */
import { failedReply, runTask, type ThreadReply } from './thread-reply.ts'
import type { ThreadRequest } from './worker-pool.ts'

process.on('message', ({ module, name, input }: Omit<ThreadRequest, 'transfer'>) => {
  const send = (reply: ThreadReply): void => {
    try {
      process.send?.(reply)
    } catch (error) {
      process.send?.(failedReply(error))
    }
  }
  runTask(module, name, input).then(send, () => undefined)
})
process.on('disconnect', () => process.exit(0))
