/** How an outcome crosses from a thread: errors of ours keep their kind, which structured clone would lose. */
import { CairnError, type ErrorKind, type ErrorOptions } from '@cairn/kernel'

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

export type ThreadReply =
  | { readonly tag: 'done'; readonly output: unknown }
  | { readonly tag: 'failed'; readonly kind: ErrorKind; readonly detail: string; readonly options: ErrorOptions }

export function failedReply(error: unknown): ThreadReply {
  if (!(error instanceof CairnError)) {
    const detail = error instanceof Error ? error.message : String(error)
    return {
      tag: 'failed',
      kind: 'Internal',
      detail,
      options: { cause: error instanceof Error ? error.stack : detail },
    }
  }
  const { kind, message, code, status, retryAfterMs } = error
  return {
    tag: 'failed',
    kind,
    detail: message,
    options: { code, status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  }
}

/** The output, or the task's error thrown again on this side. */
export function openReply(reply: ThreadReply): unknown {
  if (reply.tag === 'done') return reply.output
  throw new CairnError(reply.kind, reply.detail, reply.options)
}
