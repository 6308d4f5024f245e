/** `queue-core.ts` with promises: many producers, many consumers, a fixed capacity. */
import { RepeatedWarning } from '../observe/log.ts'
import type { Runtime } from '../runtime.ts'
import * as core from './queue-core.ts'
import { throwIfCanceled, type WaitOptions, waitIn } from './waiters.ts'

export interface QueueOptions<T> extends core.QueueShape {
  readonly name: string
  /** Called for every accepted item that will never be received, so that its sender can be answered. */
  readonly onLost?: (item: T) => void
}

export interface ReceiveOptions extends WaitOptions {
  /** Only items of this lane; of both when absent. */
  readonly take?: core.Take
}

export class Queue<T> implements AsyncIterable<T> {
  readonly name: string
  readonly #core: core.QueueCore<T>
  readonly #onLost: ((item: T) => void) | undefined
  readonly #dropped: (item: T) => void
  readonly #unlist: () => void
  #rejected = 0

  constructor(runtime: Runtime, options: QueueOptions<T>) {
    this.name = options.name
    this.#core = core.createQueue(options)
    this.#onLost = options.onLost
    const warning = new RepeatedWarning(runtime.clock, runtime.log, 'queue dropped its oldest items')
    this.#dropped = (item) => {
      warning.happened({ queue: this.name })
      this.#onLost?.(item)
    }
    this.#unlist = runtime.topology.add({ kind: 'queue', name: this.name, facts: () => this.facts() })
  }

  /** Never waits. `full` and `closed` leave the item with the caller. */
  trySend(item: T, lane: core.Lane = 'normal'): core.SendResult {
    const result = core.trySend(this.#core, item, lane, this.#dropped)
    if (result === 'full') this.#rejected += 1
    return result
  }

  /** The next item if one is there, `closed` if none will ever come, `undefined` if one may. */
  tryReceive(take: core.Take = 'any'): core.ReceiveResult<T> | undefined {
    return core.tryReceive(this.#core, take)
  }

  /** The next item, of one lane if so asked, waiting for it if need be. An aborted wait takes nothing. */
  async recv({ take = 'any', signal }: ReceiveOptions = {}): Promise<core.ReceiveResult<T>> {
    throwIfCanceled(signal)
    return core.tryReceive(this.#core, take) ?? (await waitIn(this.#core.receivers[take], { signal }))
  }

  /** Forbids sends; consumers drain what is inside. */
  close(): void {
    core.close(this.#core)
    this.#unlist()
  }

  /** Forbids sends and discards what is inside, answering each item through `onLost`. Returns how many. */
  abort(): number {
    const discarded = core.abort(this.#core)
    this.#unlist()
    for (const item of discarded) this.#onLost?.(item)
    return discarded.length
  }

  /** Every item until the queue is closed and empty. */
  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (let next = await this.recv(); next.tag === 'item'; next = await this.recv()) yield next.item
  }

  get depth(): number {
    return core.depth(this.#core)
  }

  get capacity(): number {
    return this.#core.capacity
  }

  facts(): {
    depth: number
    capacity: number
    highWater: number
    sent: number
    received: number
    lost: number
    waiting: number
  } {
    const { capacity, highWater, sent, received, dropped, discarded } = this.#core
    const lost = dropped + discarded + this.#rejected
    return { depth: this.depth, capacity, highWater, sent, received, lost, waiting: core.waiting(this.#core) }
  }
}
