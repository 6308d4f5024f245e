/** What an operator wants looked up again, in the order in which it is done: the most urgent first, each in its turn. */
import type { Queue } from '@cairn/kernel'
import type { Question } from '../domain/finding.ts'

/** The most urgent first. */
export const PRIORITIES = ['high', 'normal', 'low'] as const
export type Priority = (typeof PRIORITIES)[number]

export interface ReindexRequest {
  readonly question: Question
  readonly priority: Priority
}

export class ReindexLine {
  readonly #queue: Queue<ReindexRequest>
  readonly #lanes: Readonly<Record<Priority, Question[]>> = { high: [], normal: [], low: [] }

  constructor(queue: Queue<ReindexRequest>) {
    this.#queue = queue
  }

  /** The most urgent question that waits; once there is one. Nothing more comes after `undefined`. */
  async next(signal: AbortSignal): Promise<Question | undefined> {
    this.#sort()
    for (const priority of PRIORITIES) {
      const question = this.#lanes[priority].shift()
      if (question !== undefined) return question
    }
    const received = await this.#queue.recv({ signal })
    if (received.tag !== 'item') return undefined
    this.#lanes[received.item.priority].push(received.item.question)
    return await this.next(signal)
  }

  /** Takes over what waits, as much as the queue itself would hold: what is urgent is seen before its turn in the queue. */
  #sort(): void {
    let waiting = PRIORITIES.reduce((sum, priority) => sum + this.#lanes[priority].length, 0)
    for (; waiting < this.#queue.capacity; waiting += 1) {
      const received = this.#queue.tryReceive()
      if (received?.tag !== 'item') return
      this.#lanes[received.item.priority].push(received.item.question)
    }
  }
}
