import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { flushCompileCache, getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { CairnError, canceled } from '@cairn/kernel'
import { THREAD_MAIN } from './thread-main.ts'
import { openReply, type ThreadReply } from './thread-reply.ts'
import type { Thread, ThreadRequest } from './worker-pool.ts'

/**
 * A process in the place of a thread, for native code that reads what strangers wrote: a thread cannot be stopped inside
 * a native call, and a crash there takes the whole program along. A process can always be killed.
 */
export class ChildThread implements Thread {
  readonly #child: ChildProcess = fork(new URL('./child-main.ts', import.meta.url), {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  readonly #ended = once(this.#child, 'exit')
  #usable = true

  constructor() {
    const lost = (): void => {
      this.#usable = false
    }
    this.#child.on('error', lost).on('exit', lost).on('disconnect', lost)
    // It waits for work; that alone must not keep the program alive.
    this.#child.unref()
    this.#child.channel?.unref()
  }

  get usable(): boolean {
    return this.#usable
  }

  async run(request: ThreadRequest, signal: AbortSignal): Promise<unknown> {
    try {
      return openReply(await this.#exchange(request, signal))
    } finally {
      if (signal.aborted) await this.stop()
    }
  }

  async stop(): Promise<void> {
    this.#usable = false
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.ref()
    this.#child.kill('SIGKILL')
    await this.#ended
  }

  /** One message there and one back; the process's end, or the signal, ends the wait. */
  async #exchange({ module, name, input }: ThreadRequest, signal: AbortSignal): Promise<ThreadReply> {
    using listeners = new DisposableStack()
    this.#child.channel?.ref()
    listeners.defer(() => this.#child.channel?.unref())
    return await new Promise<ThreadReply>((resolve, reject) => {
      const crashed = (cause: unknown): void => reject(childCrashed(cause))
      const stopped = (): void => reject(canceled(signal))
      this.#child.on('message', resolve).on('error', crashed).on('exit', crashed)
      signal.addEventListener('abort', stopped)
      listeners.defer(() => {
        this.#child.off('message', resolve).off('error', crashed).off('exit', crashed)
        signal.removeEventListener('abort', stopped)
      })
      this.#child.send({ module, name, input }, (error) => {
        if (error !== null) crashed(error)
      })
    })
  }
}

function childCrashed(cause: unknown): CairnError {
  const detail = 'The process of this job ended; other jobs are not affected.'
  return new CairnError('Internal', detail, { code: 'worker_crashed', cause })
}

/** MiB for the short-lived objects of a thread: jobs get bytes and give bytes, and make next to none. */
const YOUNG_MIB = 2

/** A worker thread. It dies with its job when the job is canceled: nothing else stops a loop that does not yield. */
export class RealThread implements Thread {
  readonly #worker = new Worker(THREAD_MAIN, {
    env: threadEnvironment(),
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
  })
  #usable = true

  constructor() {
    // Between jobs a crash only means that the next job gets another thread.
    this.#worker.on('error', () => {
      this.#usable = false
    })
    this.#worker.on('exit', () => {
      this.#usable = false
    })
  }

  get usable(): boolean {
    return this.#usable
  }

  async run(request: ThreadRequest, signal: AbortSignal): Promise<unknown> {
    try {
      return openReply(await this.#exchange(request, signal))
    } finally {
      if (signal.aborted) await this.stop()
    }
  }

  async stop(): Promise<void> {
    this.#usable = false
    await this.#worker.terminate()
  }

  /** One message there and one back; the thread's end, or the signal, ends the wait. */
  async #exchange({ module, name, input, transfer }: ThreadRequest, signal: AbortSignal): Promise<ThreadReply> {
    using listeners = new DisposableStack()
    return await new Promise<ThreadReply>((resolve, reject) => {
      const crashed = (cause: unknown): void => reject(threadCrashed(cause))
      const stopped = (): void => reject(canceled(signal))
      this.#worker.on('message', resolve).on('error', crashed).on('exit', crashed)
      signal.addEventListener('abort', stopped)
      listeners.defer(() => {
        this.#worker.off('message', resolve).off('error', crashed).off('exit', crashed)
        signal.removeEventListener('abort', stopped)
      })
      this.#worker.postMessage({ module, name, input }, transfer)
    })
  }
}

/**
 * A thread does not inherit the compile cache: without it, it takes three times as long to start and twice the memory.
 * What this process compiled itself is written out first, which otherwise happens only when it ends.
 */
function threadEnvironment(): NodeJS.ProcessEnv {
  const cache = getCompileCacheDir()
  if (cache === undefined) return process.env
  flushCompileCache()
  return { ...process.env, NODE_COMPILE_CACHE: dirname(cache) }
}

function threadCrashed(cause: unknown): CairnError {
  const detail = 'The worker thread of this job crashed; other jobs are not affected.'
  return new CairnError('Internal', detail, { code: 'worker_crashed', cause })
}
