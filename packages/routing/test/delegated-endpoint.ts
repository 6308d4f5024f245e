/** A Delegated Routing v1 endpoint without a socket, for the side that asks. */
import { CairnError, throwIfCanceled } from '@cairn/kernel'
import type { IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'

export interface Answer {
  readonly status?: number
  readonly contentType?: string
  /** Pieces of the body, as they arrive. */
  readonly body?: readonly string[]
}

export class DelegatedEndpoint implements Transport {
  readonly asked: OutgoingRequest[] = []
  readonly #answer: (url: URL) => Answer
  /** Bodies neither read to their end nor canceled. */
  open = 0

  constructor(answer: (url: URL) => Answer) {
    this.#answer = answer
  }

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    throwIfCanceled(request.signal)
    if (request.deadline.expired) throw new CairnError('Timeout', 'No time.')
    this.asked.push(request)
    await Promise.resolve()
    throwIfCanceled(request.signal)
    const { status = 200, contentType = 'application/json', body = [] } = this.#answer(request.url)
    this.open += 1
    let isOpen = true
    const end = (): void => {
      if (isOpen) this.open -= 1
      isOpen = false
    }
    const pieces = body.map((text) => new TextEncoder().encode(text))
    return {
      status,
      headers: { 'content-type': contentType },
      body: {
        async *[Symbol.asyncIterator]() {
          yield* pieces
          end()
        },
        cancel: end,
      },
    }
  }

  async close(): Promise<void> {}
}
