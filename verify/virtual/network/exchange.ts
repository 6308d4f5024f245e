/** One request and its answer, as the client's machine sees them. */
import { type CairnError, Cancel, canceled, Semaphore } from '@cairn/kernel'
import type { IncomingResponse, OutgoingRequest } from '@cairn/transport'
import type { Life } from '../life.ts'
import { ArrivingBody } from './arriving-body.ts'
import { joinHeaders } from './message.ts'

/** Parts under way or waiting to be read; the server stops producing beyond. */
const WINDOW = 16

export class Exchange {
  readonly client: Life
  readonly body: ArrivingBody
  readonly #cancel: Cancel
  readonly #reply = Promise.withResolvers<IncomingResponse>()
  #answer: Stream | undefined

  /** `onGone` hears that the client gave up: its deadline passed, its caller left, or the body was canceled. */
  constructor(client: Life, { deadline, signal }: OutgoingRequest, onGone: () => void) {
    this.client = client
    this.#cancel = new Cancel({ signals: [signal], deadline, operation: 'a request' })
    const { signal: ending } = this.#cancel
    let isGone = false
    const goneOnce = (): void => {
      if (!isGone) onGone()
      isGone = true
    }
    this.body = new ArrivingBody((state) => {
      this.#cancel[Symbol.dispose]()
      if (state === 'canceled') goneOnce()
    })
    const onCancel = (): void => {
      this.fail(canceled(ending))
      goneOnce()
    }
    if (ending.aborted) onCancel()
    else ending.addEventListener('abort', onCancel, { once: true })
  }

  get response(): Promise<IncomingResponse> {
    return this.#reply.promise
  }

  /** Whether this is the answer that counts: the first of which anything arrives. */
  takes(stream: Stream): boolean {
    this.#answer ??= stream
    return this.#answer === stream
  }

  answered(status: number, headers: readonly string[]): void {
    this.#reply.resolve({ status, headers: joinHeaders(headers), body: this.body })
  }

  fail(error: CairnError): void {
    this.#reply.reject(error)
    this.body.fail(error)
  }
}

/**
 * The packets of one answer. A stream has an order: one that comes twice counts once, and after one that
 * never comes nothing does.
 */
export class Stream {
  /** When the last packet sent arrives, if it does. */
  dueAt = 0
  /** The server takes a permit for every part it sends. */
  readonly window = new Semaphore(WINDOW)
  /** The client has no use for it. */
  readonly leave: () => void
  readonly #client: Life
  #sent = 0
  #arrived = 0

  constructor(client: Life, leave: () => void) {
    this.#client = client
    this.leave = leave
  }

  /** What to do with the next packet when it arrives. */
  next(arrive: () => void): () => void {
    this.#sent += 1
    const number = this.#sent
    return () => {
      // Whoever asked is no more: its machine resets the connection, so that no server waits for a dead reader.
      if (!this.#client.alive) this.leave()
      if (number !== this.#arrived + 1 || !this.#client.alive) return
      this.#arrived = number
      arrive()
    }
  }
}
