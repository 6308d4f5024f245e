import { CairnError, type Lane, openQueue, type Queue, type Runtime, Watch } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import { STORAGE_TOPOLOGY } from '../topology.ts'

/** What a repair is charged: most chunks are this long, and none is longer than sixteen of them. */
export const REPAIR_COST_BYTES = 64 * 1024
/** Objects that wait to be planned; an operator asks by hand. */
const REQUESTS_MAX = 64
/** Damaged chunks without a copy that are remembered; past it they are tried again whenever somebody reads them. */
const HOPELESS_MAX = 10_000

/** What a repair came to: bytes that were moved, or why none were. */
export type Repaired =
  | { readonly tag: 'repaired'; readonly bytes: number }
  | { readonly tag: 'skipped'; readonly reason: 'no_copy' | 'drive' }

/** Waits until so many bytes may be moved. Called right before they are. */
export type RepairPace = (bytes: number) => Promise<void>

export type Repair =
  /** To be proved again, and healed from another copy if it is damaged; on this drive, or wherever it is. */
  | { readonly tag: 'chunk'; readonly chunk: Address; readonly drive: string | undefined }
  /** To be done as it says. Named, so that it is in the queue once. */
  | {
      readonly tag: 'work'
      readonly name: string
      readonly bytes: number
      /** What is in parts is moved so many bytes at a time, or one part. */
      readonly run: (pace: RepairPace, runBytes: number) => Promise<Repaired>
    }

export interface RepairRequest {
  readonly object: Address
  /** Its chunks before this one are planned. */
  readonly from: number
}

/** The way into the `repair` queue, and what the planner was asked for. */
export class RepairQueue {
  readonly queue: Queue<Repair>
  /** Changes when the planner has a reason to look. */
  readonly asked = new Watch(0)
  readonly #runtime: Runtime
  readonly #requests = new Map<Address, number>()
  /** Names of repairs in the queue or under way: each is there once. */
  readonly #names = new Set<string>()
  /** Chunks of which nobody had a sound copy, and the drives that need one. */
  readonly #hopeless = new Set<string>()
  #pending = 0

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.queue = openQueue<Repair, typeof STORAGE_TOPOLOGY>(runtime, STORAGE_TOPOLOGY, 'repair')
  }

  /** A chunk turned out damaged: its repair takes the reserved lane, unless one has just shown that it cannot be made. */
  damaged(chunk: Address, drive?: string): void {
    const { metrics, log } = this.#runtime
    metrics.count('integrity_fail_total', { reason: 'checksum' })
    log.error({ chunk: chunk.slice(0, 11) }, 'a chunk is damaged')
    if (!this.#hopeless.has(`${chunk} ${drive}`)) this.send({ tag: 'chunk', chunk, drive }, 'urgent')
  }

  /**
   * It could not be made. A repair reads the other copies, and whoever finds one of them damaged asks for its repair:
   * without this, two that are both damaged would ask for each other for ever.
   */
  failed(repair: Repair): void {
    if (repair.tag === 'chunk' && this.#hopeless.size < HOPELESS_MAX)
      this.#hopeless.add(`${repair.chunk} ${repair.drive}`)
  }

  /** From now on everything may be tried again. */
  beginRound(): void {
    this.#hopeless.clear()
  }

  /** A repair that can wait; false if there is no room for it now, and it must be planned again. */
  offer(chunk: Address): boolean {
    return this.send({ tag: 'chunk', chunk, drive: undefined }, 'normal')
  }

  /** Puts a repair in line, unless it is there already; false if there is no room. */
  send(repair: Repair, lane: Lane): boolean {
    const { metrics } = this.#runtime
    if (repair.tag === 'work' && this.#names.has(repair.name)) return true
    const isSent = this.queue.trySend(repair, lane) === 'sent'
    if (isSent && repair.tag === 'work') this.#names.add(repair.name)
    if (isSent) this.#pending += 1
    const bytes = repair.tag === 'chunk' ? REPAIR_COST_BYTES : repair.bytes
    if (isSent) metrics.count('repair_bytes_total', { phase: 'planned' }, bytes)
    else metrics.count('repair_skipped_total', { reason: 'full' })
    return isSent
  }

  /** It is over, well or badly, and may be asked for again. */
  ended(repair: Repair): void {
    this.#pending -= 1
    if (repair.tag === 'work') this.#names.delete(repair.name)
  }

  /** In the queue or under way. */
  get pending(): number {
    return this.#pending
  }

  /** Asks the planner for an object. `Busy` when too many wait already. */
  request(object: Address): void {
    if (!this.tryRequest(object))
      throw new CairnError('Busy', `${REQUESTS_MAX} objects wait to be repaired; try again later.`)
  }

  /** The same; false when too many wait already, and the planner finds it in its next round. */
  tryRequest(object: Address): boolean {
    if (this.#requests.size >= REQUESTS_MAX && !this.#requests.has(object)) return false
    this.#requests.set(object, 0)
    this.wakePlanner()
    return true
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
}
