import { CairnError, type Permit, type Runtime, Semaphore, type WaitOptions } from '@cairn/kernel'

/** More than this many operations at once do not make a drive faster; they only make each of them later. */
const OPERATIONS_MAX = 2

export interface DriveOptions<T> extends WaitOptions {
  /** Called with a result that came after the caller was told that the drive is stalled. */
  readonly late?: (value: T) => void
}

/**
 * The way to one drive: two operations at a time, in the order they came. One that takes longer than `timeoutMs` is
 * given up on but not forgotten: the drive is stalled, and the operation keeps its permit, until it ends.
 */
export class Drive {
  readonly #runtime: Runtime
  readonly #timeoutMs: number
  readonly #permits = new Semaphore(OPERATIONS_MAX)
  #stalled = 0

  constructor(runtime: Runtime, timeoutMs: number) {
    this.#runtime = runtime
    this.#timeoutMs = timeoutMs
  }

  get isStalled(): boolean {
    return this.#stalled > 0
  }

  /** Runs one operation. `StorageBusy` at once while every permit is held by an operation that hangs. */
  async run<T>(operation: string, work: () => Promise<T>, options: DriveOptions<T> = {}): Promise<T> {
    if (this.#stalled >= OPERATIONS_MAX) throw stalled()
    const permit = await this.#permits.acquire(options)
    return await this.#timed(operation, work, permit, options)
  }

  async #timed<T>(operation: string, work: () => Promise<T>, permit: Permit, { late }: DriveOptions<T>): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      let isLate = false
      const timer = this.#runtime.clock.timer(this.#timeoutMs, () => {
        isLate = true
        this.#stalled += 1
        this.#runtime.metrics.count('io_timeouts_total', { op: operation })
        this.#runtime.log.warn({ operation }, 'the drive does not answer')
        reject(stalled())
      })
      const ended = (): void => {
        timer.cancel()
        if (isLate) this.#stalled -= 1
        permit[Symbol.dispose]()
      }
      Promise.try(work).then(
        (value) => {
          ended()
          if (isLate) late?.(value)
          resolve(value)
        },
        (error: unknown) => {
          ended()
          reject(error instanceof Error ? error : new CairnError('Internal', String(error)))
        },
      )
    })
  }
}

function stalled(): CairnError {
  const detail = 'The drive does not answer; look at its health, or try again later.'
  return new CairnError('StorageBusy', detail, { code: 'drive_stalled', retryAfterMs: 5_000 })
}
