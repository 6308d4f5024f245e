/**
 * At-least-once delivery: `mailbox-core.ts` with a log behind it and consumers in front.
 *
 *     lease ─▶ whose turn ─▶ the attempt, durable ─▶ receipt {id, attempt, nonce}
 *     ack ──▶ is the receipt good ─▶ the acknowledgement, durable ─▶ gone
 */
import {
  CairnError,
  Cancel,
  Closeable,
  Deadline,
  isKind,
  type MetricTable,
  type Runtime,
  type Timer,
  throwIfCanceled,
  Watch,
} from '@cairn/kernel'
import { toHex } from '@cairn/wire'
import type { MailboxChange, Message } from './change.ts'
import * as core from './mailbox-core.ts'

/** What a mailbox counts; for the table of the service that has one. */
export const MAILBOX_METRICS = {
  mailbox_deliveries_total: { type: 'counter', labels: [], help: 'Messages handed to a consumer.' },
  mailbox_acks_total: { type: 'counter', labels: ['result'], help: 'Acknowledgements: `acked`, `nacked` or `lost`.' },
  mailbox_dead_total: { type: 'counter', labels: [], help: 'Messages that became dead letters.' },
  mailbox_replayed_total: { type: 'counter', labels: [], help: 'Dead letters put back.' },
} as const satisfies MetricTable

/** Makes changes durable, in the order they are handed over, and applies each in the step in which it is. */
export interface ChangeLog {
  submit(changes: readonly MailboxChange[], options?: { readonly freesSpace?: boolean }): Promise<void>
}

export interface MailboxOptions {
  readonly visibilityMs: number
  readonly maxDeliveries: number
  readonly maxMessages: number
}

export interface Delivery {
  readonly message: Message
  readonly receipt: core.Receipt
  readonly visibilityMs: number
}

export interface ListedMessage {
  readonly message: Message
  readonly attempts: number
  readonly state: core.MailboxEntryState['tag']
  /** Higher than that of every message before it. */
  readonly place: number
}

export interface LeaseOptions {
  /** How long to wait for a message if there is none. */
  readonly waitMs?: number
  readonly signal?: AbortSignal | undefined
}

export interface PageOptions {
  /** The place of the last message of the page before, which may be gone by now. */
  readonly after?: number | undefined
  readonly limit: number
}

const NONCE_BYTES = 16

export class Mailbox extends Closeable {
  readonly #runtime: Runtime
  readonly #options: MailboxOptions
  readonly #core: core.MailboxCore
  readonly #log: ChangeLog
  /** Rings when a message may be ready. */
  readonly #bell = new Watch(0)
  readonly #closing = new AbortController()
  /** Messages that are on their way into the log. */
  #expected = 0
  #timer: Timer | undefined

  constructor(runtime: Runtime, log: ChangeLog, options: MailboxOptions) {
    super(runtime, 'mailbox')
    this.#runtime = runtime
    this.#log = log
    this.#options = options
    this.#core = core.createMailbox(options.maxDeliveries)
  }

  /** Something is durable; for the owner of the log, in the order of the log. */
  apply(change: MailboxChange, place: number, segment: number): void {
    core.apply(this.#core, change, place, segment)
    if (this.#core.isOpen && change.tag !== 'delivery' && change.tag !== 'carry') this.#ring()
  }

  /** All of the log has been applied: messages can be leased. */
  begin(): void {
    core.open(this.#core)
  }

  /** Whether a message with this id is here, dead or alive. */
  has(id: string): boolean {
    return this.#core.byId.has(id)
  }

  /** Room for messages that are about to be written; undefined if there is none. Released once they are written, or failed. */
  reserve(count: number): Disposable | undefined {
    if (this.#core.byId.size + this.#expected + count > this.#options.maxMessages) return undefined
    this.#expected += count
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#expected -= count
        isHeld = false
      },
    }
  }

  /** Durable once this resolves. A message with an id that is here already is that one. */
  async send(message: Message): Promise<void> {
    using room = this.reserve(1)
    if (room === undefined) {
      const detail = `The mailbox holds ${this.#options.maxMessages} messages; acknowledge some first.`
      throw new CairnError('Backpressure', detail, { code: 'mailbox_full', retryAfterMs: 30_000 })
    }
    await this.#log.submit([{ tag: 'message', message }])
  }

  /** The next message of the topic with a receipt for it; nothing if none comes in time. Its attempt is durable. */
  async lease(topic: string, { waitMs = 0, signal }: LeaseOptions = {}): Promise<Delivery | undefined> {
    const deadline = Deadline.after(this.#runtime.clock, waitMs)
    for (;;) {
      throwIfCanceled(signal)
      const seen = this.#bell.version
      this.#expire()
      const entry = core.take(this.#core, topic)
      if (entry !== undefined) return await this.#deliver(entry, signal)
      if (deadline.expired || !(await this.#rung(seen, deadline, signal))) return undefined
    }
  }

  /** The message is done, durably. `Conflict` with the code `lease_lost` if the receipt is not good any more. */
  async ack(topic: string, receipt: core.Receipt): Promise<void> {
    const entry = this.#held(topic, receipt)
    const given = core.change(entry)
    try {
      await this.#log.submit([{ tag: 'ack', id: receipt.id }], { freesSpace: true })
    } catch (error) {
      if (given !== undefined) core.lease(this.#core, entry, given)
      this.#arm()
      throw error
    }
    this.#runtime.metrics.count('mailbox_acks_total', { result: 'acked' })
  }

  /** Gives the message back at once, for another consumer. */
  nack(topic: string, receipt: core.Receipt): void {
    this.#release(this.#held(topic, receipt))
    this.#runtime.metrics.count('mailbox_acks_total', { result: 'nacked' })
  }

  /** Puts dead letters back: those with these ids, or all of the topic. Each keeps its id. Returns how many. */
  async replay(topic: string, ids: readonly string[] | undefined): Promise<number> {
    const entries = this.#entries(topic).filter(({ state, message }) => {
      return state.tag === 'dead' && (ids === undefined || ids.includes(message.id))
    })
    if (entries.length === 0) return 0
    for (const entry of entries) core.change(entry)
    try {
      await this.#log.submit(entries.map(({ message }) => ({ tag: 'replay', id: message.id })))
    } catch (error) {
      for (const entry of entries) entry.state = { tag: 'dead' }
      throw error
    }
    this.#runtime.metrics.count('mailbox_replayed_total', {}, entries.length)
    return entries.length
  }

  /** Messages of the topic that are not dead, in the order they came. */
  peek(topic: string, page: PageOptions): ListedMessage[] {
    return this.#page(topic, page, (tag) => tag !== 'dead')
  }

  dead(topic: string, page: PageOptions): ListedMessage[] {
    return this.#page(topic, page, (tag) => tag === 'dead')
  }

  facts(): { readonly live: number; readonly dead: number; readonly leased: number } {
    const { byId, dead, leases } = this.#core
    return { live: byId.size - dead, dead, leased: leases.size }
  }

  /**
   * What must be written again before a segment can go: the messages whose newest record lies in it. One that is just
   * changing is not among them, since its next record would be overtaken; ask again once this is written.
   */
  livingIn(segment: number, limit: number): { readonly changes: readonly MailboxChange[]; readonly isWhole: boolean } {
    const changes: MailboxChange[] = []
    let isWhole = true
    for (const entry of this.#core.byId.values()) {
      if (entry.segment > segment) continue
      if (changes.length === limit) return { changes, isWhole: false }
      const { message, place, attempts, state } = entry
      if (state.tag === 'changing') isWhole = false
      else changes.push({ tag: 'carry', message, place, attempts })
    }
    return { changes, isWhole }
  }

  protected override async release(): Promise<void> {
    this.#closing.abort(new CairnError('Canceled', 'The mailbox is closed.'))
    this.#timer?.cancel()
    await Promise.resolve()
  }

  async #deliver(entry: core.MailboxEntry, signal: AbortSignal | undefined): Promise<Delivery> {
    const attempt = entry.attempts + 1
    const { message } = entry
    try {
      await this.#log.submit([{ tag: 'delivery', id: message.id, attempt }])
      throwIfCanceled(signal)
    } catch (error) {
      this.#release(entry)
      throw error
    }
    const nonce = toHex(this.#runtime.random.bytes(NONCE_BYTES))
    const { visibilityMs } = this.#options
    core.lease(this.#core, entry, { attempt, nonce, until: this.#runtime.clock.now() + visibilityMs })
    this.#arm()
    this.#runtime.metrics.count('mailbox_deliveries_total')
    return { message, receipt: { id: message.id, attempt, nonce }, visibilityMs }
  }

  #held(topic: string, receipt: core.Receipt): core.MailboxEntry {
    const entry = core.held(this.#core, topic, receipt, this.#runtime.clock.now())
    if (entry !== undefined) return entry
    this.#runtime.metrics.count('mailbox_acks_total', { result: 'lost' })
    const detail = 'This receipt is not good any more: the lease ended, or the message is gone. Lease again.'
    throw new CairnError('Conflict', detail, { code: 'lease_lost' })
  }

  #release(entry: core.MailboxEntry): void {
    const before = this.#core.dead
    core.release(this.#core, entry)
    this.#settled(before)
  }

  #expire(): void {
    const before = this.#core.dead
    if (core.expire(this.#core, this.#runtime.clock.now()) > 0) this.#settled(before)
  }

  #settled(deadBefore: number): void {
    const died = this.#core.dead - deadBefore
    if (died > 0) this.#runtime.metrics.count('mailbox_dead_total', {}, died)
    this.#ring()
  }

  #ring(): void {
    this.#bell.set(this.#bell.value + 1)
  }

  /** Whether the bell rang before the deadline. */
  async #rung(seen: number, deadline: Deadline, signal: AbortSignal | undefined): Promise<boolean> {
    using cancel = new Cancel({
      signals: [signal, this.#closing.signal],
      deadline,
      operation: 'the wait for a message',
    })
    try {
      await this.#bell.changed(seen, { signal: cancel.signal })
      return true
    } catch (error) {
      if (isKind(error, 'Timeout')) return false
      throw error
    }
  }

  /** One timer, for the lease that ends next. */
  #arm(): void {
    if (this.#timer !== undefined) return
    const until = core.nextExpiry(this.#core)
    if (until === undefined || this.#closing.signal.aborted) return
    const { clock } = this.#runtime
    this.#timer = clock.timer(Math.max(0, until - clock.now()), () => {
      this.#timer = undefined
      this.#expire()
      this.#arm()
    })
  }

  #entries(topic: string): core.MailboxEntry[] {
    return [...(this.#core.topics.get(topic)?.entries.values() ?? [])]
  }

  #page(topic: string, { after = -1, limit }: PageOptions, isWanted: (tag: core.MailboxEntryState['tag']) => boolean) {
    const page: ListedMessage[] = []
    for (const { message, attempts, state, place } of this.#core.topics.get(topic)?.entries.values() ?? []) {
      if (page.length === limit) break
      if (place > after && isWanted(state.tag)) page.push({ message, attempts, state: state.tag, place })
    }
    return page
  }
}
