import { CairnError, openQueue, type Queue, type Runtime, Watch } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import { STORAGE_TOPOLOGY } from '../topology.ts'

/** What a repair is charged: most chunks are this long, and none is longer than sixteen of them. */
export const REPAIR_COST_BYTES = 64 * 1024
/** Objects that wait to be planned; an operator asks by hand. */
const REQUESTS_MAX = 64

export interface Repair {
  readonly chunk: Address
}

export interface RepairRequest {
  readonly object: Address
  /** Its chunks before this one are planned. */
  readonly from: number
}

/** The way into the `repair` queue, and what the planner was asked for. */
export class Repairs {
  readonly queue: Queue<Repair>
  /** Changes when the planner has a reason to look. */
  readonly asked = new Watch(0)
  readonly #runtime: Runtime
  readonly #requests = new Map<Address, number>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.queue = openQueue<Repair, typeof STORAGE_TOPOLOGY>(runtime, STORAGE_TOPOLOGY, 'repair')
  }

  /** A chunk turned out damaged: its repair takes the reserved lane. */
  damaged(chunk: Address): void {
    const { metrics, log } = this.#runtime
    metrics.count('integrity_fail_total', { reason: 'checksum' })
    log.error({ chunk: chunk.slice(0, 11) }, 'a chunk is damaged')
    this.#send(chunk, 'urgent')
  }

  /** A repair that can wait; false if there is no room for it now, and it must be planned again. */
  offer(chunk: Address): boolean {
    return this.#send(chunk, 'normal')
  }

  /** Asks the planner for an object. `Busy` when too many wait already. */
  request(object: Address): void {
    if (this.#requests.size >= REQUESTS_MAX && !this.#requests.has(object))
      throw new CairnError('Busy', `${REQUESTS_MAX} objects wait to be repaired; try again later.`)
    this.#requests.set(object, 0)
    this.wakePlanner()
  }

  wakePlanner(): void {
    this.asked.set(this.asked.value + 1)
  }

  requests(): RepairRequest[] {
    return [...this.#requests].map(([object, from]) => ({ object, from }))
  }

  /** How far the planner came with an object; `undefined` when there is nothing left to plan. */
  planned(object: Address, upTo: number | undefined): void {
    if (upTo === undefined) this.#requests.delete(object)
    else this.#requests.set(object, upTo)
  }

  #send(chunk: Address, lane: 'urgent' | 'normal'): boolean {
    const { metrics } = this.#runtime
    const isSent = this.queue.trySend({ chunk }, lane) === 'sent'
    if (isSent) metrics.count('repair_bytes_total', { phase: 'planned' }, REPAIR_COST_BYTES)
    else metrics.count('repair_skipped_total', { reason: 'full' })
    return isSent
  }
}
