/**
 * The body of a response while it arrives, part by part.
 *
 *     server ─▶ packet ─▶ parts waiting (bounded by the window) ─▶ the reader
 *                  server waits for room ◀── a part is taken
 */
import type { CairnError } from '@cairn/kernel'

type State =
  | { readonly tag: 'arriving' }
  | { readonly tag: 'complete' }
  | { readonly tag: 'failed'; readonly error: CairnError }
  /** The reader wants no more. */
  | { readonly tag: 'canceled' }

const NOTHING = new Uint8Array(0)

export class ArrivingBody implements AsyncIterable<Uint8Array> {
  readonly #parts: { readonly bytes: Uint8Array; readonly permit: Disposable }[] = []
  readonly #onOver: (state: 'complete' | 'failed' | 'canceled') => void
  #state: State = { tag: 'arriving' }
  #wake: (() => void) | undefined

  /** `onOver` hears once how it ended. */
  constructor(onOver: (state: 'complete' | 'failed' | 'canceled') => void) {
    this.#onOver = onOver
  }

  arrive(bytes: Uint8Array, permit: Disposable): void {
    if (this.#state.tag !== 'arriving') return
    this.#parts.push({ bytes, permit })
    this.#wake?.()
  }

  /** Nothing comes any more, but for these last bytes. */
  complete(last = NOTHING): void {
    if (last.length > 0) this.arrive(last, { [Symbol.dispose]: () => undefined })
    this.#finish({ tag: 'complete' })
  }

  fail(error: CairnError): void {
    this.#finish({ tag: 'failed', error })
  }

  cancel(): void {
    this.#finish({ tag: 'canceled' })
    this.#parts.length = 0
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    try {
      for (;;) {
        const part = this.#parts.shift()
        if (part === undefined) {
          if (this.#state.tag === 'failed') throw this.#state.error
          if (this.#state.tag !== 'arriving') return
          await this.#news()
        } else {
          part.permit[Symbol.dispose]()
          yield part.bytes
        }
      }
    } finally {
      this.cancel()
    }
  }

  #finish(state: Exclude<State, { tag: 'arriving' }>): void {
    if (this.#state.tag !== 'arriving') return
    this.#state = state
    this.#wake?.()
    this.#onOver(state.tag)
  }

  async #news(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    this.#wake = undefined
  }
}
