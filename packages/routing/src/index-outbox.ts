/**
 * Announces records to one other cairn index, in as few requests as it takes.
 *
 *     announce ──▶ waiting (4096) ──▶ POST /announce, one at a time, 256 records or 512 KiB ──▶ taken, or refused with a reason
 *                                       └ not answered: every caller fails, and no request follows for 1 s, 2 s … 5 min
 *
 * Whatever comes while a request is under way goes with the next one. The other side dials back before it believes.
 */
import { Cancel, Deadline, type Runtime, throwIfCanceled, toCairnError } from '@cairn/kernel'
import { abortable, type IncomingBody, joinUrl, type Transport } from '@cairn/transport'
import { problemError, toBase64url } from '@cairn/wire'
import { noRoute } from './provider-routing.ts'
import type { SignedProviderRecord } from './record.ts'

/** Reads the text of a body, or as much of its beginning; the caller still cancels the body. */
export async function textUpTo(body: IncomingBody, charactersMax: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true })
    if (text.length > charactersMax) break
  }
  return text
}

/** Another index that takes this node's announcements. */
export interface AnnounceTarget {
  readonly url: URL
  /** A token with `index:announce` there; asked for with each request, so that a new one is used at once. */
  readonly token: () => Promise<string>
}

interface PendingRecord {
  readonly text: string
  readonly announced: PromiseWithResolvers<void>
}

const WAITING_MAX = 4096
/** What the other side takes in one request, below its megabyte of body. */
const RECORDS_MAX = 256
const CHARACTERS_MAX = 512 * 1024
/** It dials back each publisher before it answers. */
const ANNOUNCE_MS = 15_000
const ANSWER_CHARACTERS_MAX = 256 * 1024
const PAUSE_MIN_MS = 1_000
const PAUSE_MAX_MS = 300_000

export class IndexOutbox {
  readonly #runtime: Runtime
  readonly #transport: Transport
  readonly #target: AnnounceTarget
  readonly #closing = new AbortController()
  readonly #waiting: PendingRecord[] = []
  #sending: Promise<void> | undefined
  #failures = 0
  #notBefore = 0

  constructor(runtime: Runtime, transport: Transport, target: AnnounceTarget) {
    this.#runtime = runtime
    this.#transport = transport
    this.#target = target
  }

  /** Resolves once the index has taken the record; throws `no_route` when it did not, or is not asked for now. */
  async announce({ bytes }: SignedProviderRecord, signal: AbortSignal): Promise<void> {
    throwIfCanceled(signal)
    const { host } = this.#target.url
    if (this.#runtime.clock.now() < this.#notBefore) throw noRoute(`The index at ${host} did not answer a moment ago.`)
    if (this.#waiting.length >= WAITING_MAX) throw noRoute(`Too many records wait for the index at ${host}.`)
    const told = Promise.withResolvers<void>()
    this.#waiting.push({ text: toBase64url(bytes), announced: told })
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
    await abortable(signal, told.promise)
  }

  /** Aborts the request under way; every waiting caller receives the error. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#sending
  }

  /** Never throws. */
  async #sendAll(): Promise<void> {
    // Records that a caller announces in one step go into one request.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch()
      try {
        this.#settle(batch, await this.#send(batch))
        this.#failures = 0
      } catch (error) {
        this.#giveUp(batch, error)
      }
    }
  }

  #nextBatch(): readonly PendingRecord[] {
    let characters = 0
    const end = this.#waiting.findIndex(({ text }, at) => {
      characters += text.length
      return at > 0 && (at >= RECORDS_MAX || characters > CHARACTERS_MAX)
    })
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end)
  }

  /** Why each record was refused, by its place. */
  async #send(batch: readonly PendingRecord[]): Promise<ReadonlyMap<number, string>> {
    const { url, token } = this.#target
    const deadline = Deadline.after(this.#runtime.clock, ANNOUNCE_MS)
    using cancel = new Cancel({ signals: [this.#closing.signal], deadline, operation: `the answer of ${url.host}` })
    throwIfCanceled(cancel.signal)
    const authorization = `Bearer ${await abortable(cancel.signal, token())}`
    const { status, headers, body } = await this.#transport.request({
      method: 'POST',
      url: joinUrl(url, 'announce'),
      headers: { authorization, 'content-type': 'application/json', 'request-timeout': deadline.toHeader() },
      body: new TextEncoder().encode(JSON.stringify({ records: batch.map(({ text }) => text) })),
      deadline,
      signal: cancel.signal,
    })
    try {
      const text = await abortable(cancel.signal, textUpTo(body, ANSWER_CHARACTERS_MAX))
      if (status === 200) return refusalsIn(text)
      throw problemError(
        { status, contentType: headers['content-type'], retryAfter: headers['retry-after'], text },
        url.host,
      )
    } finally {
      body.cancel()
    }
  }

  #settle(batch: readonly PendingRecord[], refusals: ReadonlyMap<number, string>): void {
    for (const [at, { announced: told }] of batch.entries()) {
      const code = refusals.get(at)
      this.#count(code === undefined ? 'accepted' : 'refused')
      // It knows a newer one: that is as good.
      if (code === undefined || code === 'stale') told.resolve()
      else told.reject(noRoute(`The index at ${this.#target.url.host} refused a record: ${code}.`))
    }
  }

  #giveUp(batch: readonly PendingRecord[], error: unknown): void {
    const { clock, random } = this.#runtime
    const { message, retryAfterMs = 0 } = toCairnError(error)
    const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** this.#failures) * (0.5 + random.next() / 2)
    this.#failures += 1
    this.#notBefore = clock.now() + Math.max(pauseMs, retryAfterMs)
    for (const { announced: told } of [...batch, ...this.#waiting.splice(0)]) {
      this.#count('failed')
      told.reject(noRoute(`The index at ${this.#target.url.host} was not told: ${message}`, error))
    }
  }

  #count(result: 'accepted' | 'refused' | 'failed'): void {
    this.#runtime.metrics.count('provider_announce_total', { result })
  }
}

/** `{refused: [{index, code}]}`; what is not of this form refuses nothing. */
function refusalsIn(text: string): ReadonlyMap<number, string> {
  const { refused } = JSON.parse(text) as { readonly refused?: unknown }
  const rows: readonly { readonly index?: unknown; readonly code?: unknown }[] = Array.isArray(refused) ? refused : []
  return new Map(rows.map(({ index, code }) => [Number(index), String(code)]))
}
