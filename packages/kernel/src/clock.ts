/**
 * Time, as something handed in. `now` orders and measures; `wall` only dates things for people and
 * for `exp`/`nbf`. Nothing else in the project reads a clock or sets a timer.
 */
import { canceled, throwIfCanceled, type WaitOptions } from './channel/waiters.ts'

/** Resolves after `ms` on this clock; an abort ends it at once and cancels the timer. */
export async function sleep(clock: Clock, ms: number, { signal }: WaitOptions = {}): Promise<void> {
  throwIfCanceled(signal)
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      timer.cancel()
      if (signal !== undefined) reject(canceled(signal))
    }
    const timer = clock.timer(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

export interface Timer {
  /** The callback will not run after this; calling it twice, or after it fired, does nothing. */
  cancel(): void
}

export interface Clock {
  /** Monotonic milliseconds, fractional; only differences mean anything. */
  now(): number
  /** Unix milliseconds. May jump; never used to order or to wait. */
  wall(): number
  /** Runs `fire` once, `delayMs` from now or as soon after as possible. */
  timer(delayMs: number, fire: () => void): Timer
  /** Timers set and neither fired nor canceled. */
  pending(): number
}

/** The longest delay the platform's timers take without wrapping to 1 ms; longer waits are re-armed. */
const TIMER_MS_MAX = 0x7fff_ffff

export class SystemClock implements Clock {
  #pending = 0

  now(): number {
    return performance.now()
  }

  wall(): number {
    return Date.now()
  }

  pending(): number {
    return this.#pending
  }

  timer(delayMs: number, fire: () => void): Timer {
    const due = this.now() + delayMs
    let handle: ReturnType<typeof setTimeout> | undefined
    const arm = (): void => {
      const left = due - this.now()
      handle = setTimeout(left > TIMER_MS_MAX ? arm : done, Math.min(Math.max(left, 0), TIMER_MS_MAX))
    }
    const done = (): void => {
      handle = undefined
      this.#pending -= 1
      fire()
    }
    this.#pending += 1
    arm()
    return {
      cancel: () => {
        if (handle === undefined) return
        clearTimeout(handle)
        handle = undefined
        this.#pending -= 1
      },
    }
  }
}

/** How many virtual timers fire in one turn of the event loop; a turn costs more than a timer. */
const TURN_TIMERS = 32

interface VirtualTimer {
  readonly due: number
  readonly order: number
  fire: (() => void) | undefined
}

/** A clock that moves only when told to: timers fire in order of due time, then of creation. */
export class VirtualClock implements Clock {
  #now = 0
  #wallOffset: number
  #order = 0
  #pending = 0
  /** Binary min-heap by (due, order); canceled timers stay until they surface, or outnumber the live. */
  #heap: VirtualTimer[] = []

  constructor(wallAtStart = 1_700_000_000_000) {
    this.#wallOffset = wallAtStart
  }

  now(): number {
    return this.#now
  }

  wall(): number {
    return this.#wallOffset + this.#now
  }

  /** Moves the wall clock alone, as an operator or a bad time server would. */
  jumpWall(byMs: number): void {
    this.#wallOffset += byMs
  }

  pending(): number {
    return this.#pending
  }

  timer(delayMs: number, fire: () => void): Timer {
    this.#order += 1
    const timer: VirtualTimer = { due: this.#now + Math.max(0, delayMs), order: this.#order, fire }
    this.#pending += 1
    siftUp(this.#heap, this.#heap.push(timer) - 1)
    return {
      cancel: () => {
        if (timer.fire === undefined) return
        timer.fire = undefined
        this.#pending -= 1
        if (this.#heap.length > 64 && this.#heap.length > 2 * this.#pending) this.#compact()
      },
    }
  }

  /** When the next timer is due, if there is one. */
  nextDue(): number | undefined {
    this.#dropCanceled()
    return this.#heap[0]?.due
  }

  /** Moves to the next timer and fires it; false when none is set. */
  fireNext(): boolean {
    this.#dropCanceled()
    const timer = popMin(this.#heap)
    const fire = timer?.fire
    if (timer === undefined || fire === undefined) return false
    this.#now = Math.max(this.#now, timer.due)
    timer.fire = undefined
    this.#pending -= 1
    fire()
    return true
  }

  /** Moves `byMs` forward and fires, synchronously and in order, every timer due on the way. */
  advance(byMs: number): void {
    const target = this.#now + byMs
    for (let due = this.nextDue(); due !== undefined && due <= target; due = this.nextDue()) this.fireNext()
    this.#now = target
  }

  /** Like `advance`, but lets every promise reaction run before the first timer and after each one. */
  async run(byMs: number): Promise<void> {
    const target = this.#now + byMs
    await this.settle()
    for (let due = this.nextDue(); due !== undefined && due <= target; due = this.nextDue()) {
      this.fireNext()
      await this.settle()
    }
    this.#now = target
  }

  /** Lets every promise reaction that is ready run; no time passes. */
  async settle(): Promise<void> {
    await new Promise<void>((resolve) => {
      setImmediate(resolve)
    })
  }

  /**
   * Fires one timer after the other, each as soon as every promise reaction has run, while `goesOn` says so; ends when
   * no timer is left.
   */
  async fireWhile(goesOn: () => boolean): Promise<void> {
    let failure: { readonly error: unknown } | undefined
    await new Promise<void>((resolve) => {
      let isOver = false
      let left = 0
      const step = (): void => {
        if (isOver) return
        try {
          isOver = !goesOn() || !this.fireNext()
        } catch (error) {
          isOver = true
          failure = { error }
        }
        left -= 1
        if (isOver) resolve()
        else if (left === 0) ask()
      }
      // Those that are set together run in one turn of the event loop, with every promise reaction between them.
      const ask = (): void => {
        for (left = 0; left < TURN_TIMERS; left += 1) setImmediate(step)
      }
      ask()
    })
    if (failure !== undefined) throw failure.error
  }

  #dropCanceled(): void {
    while (this.#heap[0] !== undefined && this.#heap[0].fire === undefined) popMin(this.#heap)
  }

  #compact(): void {
    const live = this.#heap.filter((timer) => timer.fire !== undefined)
    this.#heap = []
    for (const timer of live) siftUp(this.#heap, this.#heap.push(timer) - 1)
  }
}

function before(a: VirtualTimer, b: VirtualTimer): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order)
}

function siftUp(heap: VirtualTimer[], start: number): void {
  for (let at = start; at > 0; ) {
    const parent = (at - 1) >> 1
    const child = heap[at]
    const above = heap[parent]
    if (child === undefined || above === undefined || !before(child, above)) return
    heap[at] = above
    heap[parent] = child
    at = parent
  }
}

function popMin(heap: VirtualTimer[]): VirtualTimer | undefined {
  const min = heap[0]
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return min
  heap[0] = last
  for (let at = 0; ; ) {
    const left = heap[2 * at + 1]
    const right = heap[2 * at + 2]
    if (left === undefined) return min
    const child = right !== undefined && before(right, left) ? 2 * at + 2 : 2 * at + 1
    const smaller = heap[child]
    if (smaller === undefined || !before(smaller, last)) return min
    heap[at] = smaller
    heap[child] = last
    at = child
  }
}
