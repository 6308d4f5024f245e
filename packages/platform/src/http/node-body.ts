import type { IncomingMessage } from 'node:http'
import { CairnError, type Metrics } from '@cairn/kernel'
import { type Pacer, Transfer } from './pacer.ts'

/**
 * The body of a message as it comes off the socket. Asking for the first bytes is what tells a waiting client to
 * send them; a client that then sends too slowly ends the body with 408.
 */
export class NodeBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #message: IncomingMessage
  readonly #pacer: Pacer
  readonly #transfer: Transfer
  readonly #onFirstRead: () => void
  #isStarted = false
  #waiting: { resolve(step: IteratorResult<Uint8Array, undefined>): void; reject(error: Error): void } | undefined

  constructor(message: IncomingMessage, pacer: Pacer, metrics: Metrics, onFirstRead: () => void) {
    this.#message = message
    this.#pacer = pacer
    this.#onFirstRead = onFirstRead
    this.#transfer = new Transfer('read', () => {
      metrics.count('io_timeouts_total', { op: 'read' })
      this.#fail(tooSlow())
    })
  }

  /** Somebody has asked for bytes of it. */
  get isStarted(): boolean {
    return this.#isStarted
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    return new Promise((resolve, reject) => {
      this.#start()
      this.#waiting = { resolve, reject }
      if (!this.#advance()) this.#pacer.wait(this.#transfer)
    })
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#stop()
    return await Promise.resolve({ done: true, value: undefined })
  }

  #start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    for (const event of EVENTS) this.#message.on(event, this.#onEvent)
    this.#onFirstRead()
  }

  #stop(): void {
    this.#pacer.drop(this.#transfer)
    // The listener for errors stays: a connection reset after the last read is nobody's concern.
    this.#message.off('readable', this.#onEvent)
  }

  readonly #onEvent = (): void => {
    this.#advance()
  }

  /** Gives whoever waits what there is; false when there is nothing yet. */
  #advance(): boolean {
    const message = this.#message
    const waiting = this.#waiting
    if (waiting === undefined) return true
    const chunk: unknown = message.destroyed ? null : message.read()
    if (chunk instanceof Uint8Array) {
      if (!this.#pacer.progress(this.#transfer, chunk.length)) return true
      this.#waiting = undefined
      waiting.resolve({ done: false, value: chunk })
      return true
    }
    if (message.complete && message.readableLength === 0) {
      this.#waiting = undefined
      this.#stop()
      waiting.resolve({ done: true, value: undefined })
      return true
    }
    if (message.destroyed) this.#fail(new CairnError('Canceled', 'The client went away in the middle of the body.'))
    return message.destroyed
  }

  #fail(error: CairnError): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    this.#stop()
    waiting?.reject(error)
  }
}

const EVENTS = ['readable', 'end', 'error', 'close'] as const

function tooSlow(): CairnError {
  return new CairnError('Timeout', 'The body came too slowly; send it faster, or in smaller parts.', {
    code: 'slow_body',
    status: 408,
  })
}
