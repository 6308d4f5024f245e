import type { IncomingMessage } from 'node:http'
import { CairnError, type Metrics } from '@cairn/kernel'
import type { RequestBytes } from '@cairn/transport'
import { freeBytes } from '@cairn/wire'
import { type Pacer, Transfer } from './pacer.ts'

type RequestBodyStep = IteratorResult<Uint8Array, undefined>

const DONE: RequestBodyStep = { done: true, value: undefined }

/**
 * The body of a message as it comes off the socket, piece by piece: between two pieces the message is paused. Asking
 * for the first bytes is what tells a waiting client to send them; a client that then sends too slowly ends the body
 * with 408.
 */
export class NodeBody implements RequestBytes, AsyncIterator<Uint8Array> {
  readonly #message: IncomingMessage
  readonly #pacer: Pacer
  readonly #transfer: Transfer
  readonly #onFirstRead: () => void
  #isStarted = false
  #isGivenUp = false
  #waiting: { resolve(step: RequestBodyStep): void; reject(error: Error): void } | undefined

  constructor(message: IncomingMessage, pacer: Pacer, metrics: Metrics, onFirstRead: () => void) {
    this.#message = message
    this.#pacer = pacer
    this.#onFirstRead = onFirstRead
    this.#transfer = new Transfer('read', () => {
      metrics.count('io_timeouts_total', { op: 'read' })
      this.giveUp()
    })
  }

  /** A reader has asked for bytes of it. */
  get isStarted(): boolean {
    return this.#isStarted
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<RequestBodyStep> {
    return new Promise((resolve, reject) => {
      if (this.#isGivenUp) {
        reject(tooSlow())
        return
      }
      this.#waiting = { resolve, reject }
      this.#start()
      if (this.#isSettled()) return
      this.#pacer.wait(this.#transfer)
      this.#message.resume()
    })
  }

  async return(): Promise<RequestBodyStep> {
    this.#stop()
    return await Promise.resolve(DONE)
  }

  giveUp(): boolean {
    if (this.#isGivenUp || this.#message.complete || this.#message.destroyed) return false
    this.#isGivenUp = true
    this.#fail(tooSlow())
    return true
  }

  /** Every piece has memory of its own: the parser copied it out of its buffer for us. */
  free(piece: Uint8Array): void {
    freeBytes(piece)
  }

  #start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#message.on('data', this.#onData)
    for (const event of ENDINGS) this.#message.on(event, this.#onEnding)
    this.#onFirstRead()
  }

  #stop(): void {
    this.#pacer.drop(this.#transfer)
    // The error listener stays: a connection reset after the last read must not crash the process.
    this.#message.off('data', this.#onData)
  }

  readonly #onData = (piece: Uint8Array): void => {
    this.#message.pause()
    if (!this.#pacer.progress(this.#transfer, piece.length)) return
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve({ done: false, value: piece })
  }

  readonly #onEnding = (): void => {
    this.#isSettled()
  }

  /** Settles the pending read if no more bytes come; false while more may. */
  #isSettled(): boolean {
    const message = this.#message
    const waiting = this.#waiting
    if (waiting === undefined) return true
    if (message.complete && message.readableLength === 0) {
      this.#waiting = undefined
      this.#stop()
      // Nothing is left; flowing, the message ends by itself and releases the connection.
      message.resume()
      waiting.resolve(DONE)
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

const ENDINGS = ['end', 'error', 'close'] as const

function tooSlow(): CairnError {
  return new CairnError('Timeout', 'The body came too slowly; send it faster, or in smaller parts.', {
    code: 'slow_body',
    status: 408,
  })
}
