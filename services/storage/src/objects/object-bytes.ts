/**
 * The body of an answer about an object, at the client's pace.
 *
 *     parts: text │ window │ text │ window …
 *                      └─ loaded from memory, or by one `work` job ─▶ handed out piece by piece ─▶ let go
 *
 * A worker is busy only while it reads: a slow client holds at most one window of memory and no worker.
 */
import type { LoadedWindow } from './object-reader.ts'
import type { ChunkWindow } from './window-core.ts'

export type BodyPart =
  /** The frame of a multipart body. */
  { readonly tag: 'text'; readonly bytes: Uint8Array } | { readonly tag: 'window'; readonly window: ChunkWindow }

export type LoadWindow = (window: ChunkWindow) => Promise<LoadedWindow>

type BodyStep = IteratorResult<Uint8Array, undefined>

const DONE: BodyStep = { done: true, value: undefined }

/** Each piece is valid until the next one is asked for. */
export class ObjectBytes implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #parts: Iterator<BodyPart>
  readonly #load: LoadWindow
  /** Loaded before anybody asked. */
  #waiting: Uint8Array[] = []
  #window: LoadedWindow | undefined
  #next = 0
  #isOver = false

  private constructor(parts: Iterable<BodyPart>, load: LoadWindow) {
    this.#parts = parts[Symbol.iterator]()
    this.#load = load
  }

  /**
   * Resolves once the first bytes are here and proved, so that what is wrong with them can still be said in the
   * status. `loadFirst` may refuse where `load`, in the middle of an answer, has to wait.
   */
  static async open(parts: Iterable<BodyPart>, loadFirst: LoadWindow, load: LoadWindow): Promise<ObjectBytes> {
    const bytes = new ObjectBytes(parts, load)
    for (let part = bytes.#parts.next(); part.done !== true; part = bytes.#parts.next()) {
      if (part.value.tag === 'window') {
        bytes.#window = await loadFirst(part.value.window)
        break
      }
      bytes.#waiting.push(part.value.bytes)
    }
    return bytes
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<BodyStep> {
    for (;;) {
      const ready = this.#waiting.shift() ?? this.#piece()
      if (ready !== undefined) return { done: false, value: ready }
      if (this.#isOver) return DONE
      const part = this.#parts.next()
      if (part.done === true) return await this.return()
      if (part.value.tag === 'text') return { done: false, value: part.value.bytes }
      const window = await this.#load(part.value.window)
      // The reader may have gone while the window was on its way; then nobody else lets go of it.
      if (this.#isGone()) window[Symbol.dispose]()
      else this.#window = window
    }
  }

  async return(): Promise<BodyStep> {
    this.#isOver = true
    this.#waiting = []
    this.#release()
    return await Promise.resolve(DONE)
  }

  #isGone(): boolean {
    return this.#isOver
  }

  #piece(): Uint8Array | undefined {
    const piece = this.#window?.pieces[this.#next]
    this.#next += 1
    if (piece === undefined) this.#release()
    return piece
  }

  #release(): void {
    this.#window?.[Symbol.dispose]()
    this.#window = undefined
    this.#next = 0
  }
}
