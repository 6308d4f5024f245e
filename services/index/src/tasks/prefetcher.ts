/**
 * Looks up what nobody waits for yet: the warm-up keys once, pinned addresses before they expire, and what an operator
 * wants looked up again. One at a time, through the same queue as everybody, so that requests do not wait for it.
 */
import { Cancel, Deadline, type Queue, type Runtime, type TaskBody, throwIfCanceled, toCairnError } from '@cairn/kernel'
import type { IndexConfig } from '../config.ts'
import type { LocalOverrides } from '../domain/local-overrides.ts'
import { keyHint, type LookupQuestion, parseLookupKey } from '../domain/lookup.ts'
import type { LookupIntake } from '../intake.ts'

// What an operator wants looked up again, in the order in which it is done: the most urgent first, each in its turn.

/** The most urgent first. */
export const PRIORITIES = ['high', 'normal', 'low'] as const
export type Priority = (typeof PRIORITIES)[number]

export interface ReindexRequest {
  readonly question: LookupQuestion
  readonly priority: Priority
}

export class ReindexQueue {
  readonly #queue: Queue<ReindexRequest>
  readonly #lanes: Readonly<Record<Priority, LookupQuestion[]>> = { high: [], normal: [], low: [] }

  constructor(queue: Queue<ReindexRequest>) {
    this.#queue = queue
  }

  /** The most urgent question that waits; once there is one. Nothing more comes after `undefined`. */
  async next(signal: AbortSignal): Promise<LookupQuestion | undefined> {
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

export interface PrefetcherParts {
  readonly config: () => IndexConfig
  readonly overrides: LocalOverrides
  readonly intake: LookupIntake
  readonly reindex: Queue<ReindexRequest>
}

/** Before an answer expires, so that a pinned one is always there. */
const RENEWED_AT = 0.5

export function prefetcher(runtime: Runtime, parts: PrefetcherParts): TaskBody {
  return async ({ draining }) => {
    for (const text of parts.config().cache.warmup_keys) await warm(runtime, parts, text, draining)
    const line = new ReindexQueue(parts.reindex)
    for (;;) {
      for (const cid of parts.overrides.pins) await fetch(runtime, parts, { tag: 'providers', cid }, draining)
      await workOff(runtime, parts, line, draining)
    }
  }
}

async function warm(runtime: Runtime, parts: PrefetcherParts, text: string, signal: AbortSignal): Promise<void> {
  try {
    await fetch(runtime, parts, questionOf(text), signal)
  } catch (error) {
    throwIfCanceled(signal)
    runtime.log.warn({ error: toCairnError(error).message }, 'a warm-up key cannot be looked up')
  }
}

export function questionOf(text: string): LookupQuestion {
  const key = parseLookupKey(text)
  return key.kind === 'name' ? { tag: 'name', name: key.name } : { tag: 'providers', cid: key.cid }
}

/** Reindex requests, the most urgent first, until it is time to renew the pins. */
async function workOff(
  runtime: Runtime,
  parts: PrefetcherParts,
  line: ReindexQueue,
  draining: AbortSignal,
): Promise<void> {
  const round = Deadline.after(runtime.clock, parts.config().cache.ttl * RENEWED_AT)
  using cancel = new Cancel({ signals: [draining], deadline: round })
  while (!round.expired) {
    let question: LookupQuestion | undefined
    try {
      question = await line.next(cancel.signal)
    } catch (error) {
      throwIfCanceled(draining)
      // The end of the round is no failure; whatever else went wrong is the supervisor's to know.
      if (cancel.signal.aborted) return
      throw error
    }
    throwIfCanceled(draining)
    if (question === undefined) return
    const result = await fetch(runtime, parts, question, draining)
    runtime.metrics.count('index_reindex_total', { result })
  }
}

async function fetch(
  { clock, log }: Runtime,
  { config, intake }: PrefetcherParts,
  question: LookupQuestion,
  signal: AbortSignal,
): Promise<'found' | 'absent' | 'failed'> {
  try {
    const deadline = Deadline.after(clock, config().dht.deadline)
    const { finding } = await intake.lookUp(question, { deadline, signal, fresh: true })
    return finding.tag === 'nothing' ? 'absent' : 'found'
  } catch (error) {
    throwIfCanceled(signal)
    const hint =
      question.tag === 'name'
        ? keyHint({ kind: 'name', name: question.name })
        : keyHint({ kind: 'cid', cid: question.cid })
    log.debug({ key_hint: hint, error: toCairnError(error).message }, 'not looked up')
    return 'failed'
  }
}
