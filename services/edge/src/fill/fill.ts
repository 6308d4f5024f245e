/** One fill: what it is doing, and everybody who reads along. */
import { CairnError, Watch } from '@cairn/kernel'
import type { InterimListener } from '@cairn/transport'
import type { Selecting } from '../caching/reuse.ts'
import type { ResponseHead } from '../caching/stored-response.ts'
import type { StoredEntry } from '../cas/entry.ts'
import type { GrowingBody } from '../cas/growing-body.ts'
import type { UpstreamAnswer } from './ask-upstream.ts'
import type { Flight } from './flights-core.ts'

export type FillState =
  /** In line, or waiting for a header. */
  | { readonly tag: 'asking' }
  /** The header is here, and may be shared with whoever is selected by the same; the body comes. */
  | { readonly tag: 'growing'; readonly growth: Growth }
  /** All of it is here. `validated`: the stored response still holds. `stood-in`: a stale one, for want of an answer. */
  | { readonly tag: 'stored'; readonly entry: StoredEntry; readonly how: 'filled' | 'validated' | 'stood-in' }
  /** Complete, and not kept: whoever read along has it, whoever waited for its end reads this. */
  | { readonly tag: 'unkept'; readonly growth: Growth }
  /** An answer for the one who asked, and nobody else. */
  | { readonly tag: 'private'; readonly answer: UpstreamAnswer }
  | { readonly tag: 'failed'; readonly error: CairnError }

export interface Growth {
  readonly head: ResponseHead
  readonly selecting: Selecting
  readonly body: GrowingBody
  /** Where it was announced. */
  readonly length: number | undefined
}

/** An upstream may say so often that it is not ready yet; more is not handed on. */
const INTERIMS_MAX = 16

export type FillWork = (fill: Fill, signal: AbortSignal) => Promise<void>

export class Fill implements Flight {
  readonly key: string
  /** For the labels of what is counted. */
  readonly route: string
  readonly work: FillWork
  readonly state = new Watch<FillState>({ tag: 'asking' })
  waiting = 0
  isWhole = false
  isOver = false
  isOutdated = false
  /** On the monotonic clock: until when the most patient of those who joined it waits for its header. */
  wantedUntil = 0
  readonly #controller = new AbortController()
  readonly #followers = new Set<InterimListener>()
  #interims = 0
  #isPrivateTaken = false
  #onLeft: (() => void) | undefined

  constructor({ key, route, work }: { readonly key: string; readonly route: string; readonly work: FillWork }) {
    this.key = key
    this.route = route
    this.work = work
  }

  /** Hears of answers of the upstream before its final one, until the returned function is called. */
  follow(listener: InterimListener): () => void {
    this.#followers.add(listener)
    return () => void this.#followers.delete(listener)
  }

  readonly inform: InterimListener = (status, headers) => {
    if (this.#interims >= INTERIMS_MAX) return
    this.#interims += 1
    for (const listener of this.#followers) listener(status, headers)
  }

  /** Fires when nobody wants it any more. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abandon(): void {
    this.#controller.abort(new CairnError('Canceled', 'Everybody who waited for this fill has left.'))
  }

  /** Runs when nobody waits or reads along any more; at once if that is so. */
  whenLeft(action: () => void): void {
    if (this.waiting === 0) action()
    else this.#onLeft = action
  }

  /** The last has left. */
  left(): void {
    this.#onLeft?.()
    this.#onLeft = undefined
  }

  /** The private answer, once: for whoever began the fill. */
  takePrivate(): UpstreamAnswer | undefined {
    const state = this.state.value
    if (state.tag !== 'private' || this.#isPrivateTaken) return undefined
    this.#isPrivateTaken = true
    return state.answer
  }
}
