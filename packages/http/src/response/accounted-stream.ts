import { CairnError } from '@cairn/kernel'

/**
 * A response body that tells once when it is over: read to its end, failed, or let go. Letting go never waits for
 * the source, which may be waiting itself.
 */
export class AccountedStream implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array>
  readonly #lengthDeclared: number | undefined
  #onOver: (() => void) | undefined
  #length = 0

  constructor(source: AsyncIterable<Uint8Array>, lengthDeclared: number | undefined, onOver: () => void) {
    this.#source = source[Symbol.asyncIterator]()
    this.#lengthDeclared = lengthDeclared
    this.#onOver = onOver
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#onOver === undefined) return { done: true, value: undefined }
    try {
      const step = await this.#source.next()
      if (step.done === true) {
        this.#finished()
        this.#checkLength(this.#length === this.#lengthDeclared)
        return { done: true, value: undefined }
      }
      this.#length += step.value.length
      this.#checkLength(this.#length <= (this.#lengthDeclared ?? this.#length))
      return { done: false, value: step.value }
    } catch (error) {
      this.#finished()
      throw error
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#onOver !== undefined) {
      this.#finished()
      finish(this.#source)
    }
    return await Promise.resolve({ done: true, value: undefined })
  }

  /** Ending a body at another length than the header promised would pass for success. */
  #checkLength(holds: boolean): void {
    if (this.#lengthDeclared === undefined || holds) return
    throw new CairnError('Internal', `A body of ${this.#lengthDeclared} bytes was promised and is not what came.`)
  }

  #finished(): void {
    this.#onOver?.()
    this.#onOver = undefined
  }
}

/** Ends a body without a reader. */
export function discardBody(body: AsyncIterable<Uint8Array>): void {
  finish(body[Symbol.asyncIterator]())
}

/** Ends it; how it ends no longer matters, failures included. */
function finish(source: AsyncIterator<Uint8Array>): void {
  Promise.try(() => source.return?.()).catch(() => {})
}
