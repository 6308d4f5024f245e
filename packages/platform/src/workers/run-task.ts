import { CairnError } from '@cairn/kernel'
import { failedReply, type ThreadReply } from './thread-reply.ts'

/** Loads the module and calls the function it exports by that name. Never throws: a failure is a reply too. */
export async function runTask(module: string, name: string, input: unknown): Promise<ThreadReply> {
  try {
    const exported: unknown = await import(module)
    const task: unknown = typeof exported === 'object' && exported !== null ? Reflect.get(exported, name) : undefined
    if (typeof task !== 'function') throw new CairnError('Internal', `The worker module exports no function ${name}.`)
    const output: unknown = await Reflect.apply(task, undefined, [input])
    return { tag: 'done', output }
  } catch (error) {
    return failedReply(error)
  }
}
