import { type WaitOptions, waitIn } from './waiters.ts'
import * as core from './watch-core.ts'

export interface WatchSnapshot<T> {
  readonly value: T
  readonly version: number
}

/** The read side of a watch. */
export interface Watching<T> {
  readonly value: T
  readonly version: number
  changed(seen: number, options?: WaitOptions): Promise<WatchSnapshot<T>>
  until<S extends T>(holds: (value: T) => value is S, options?: WaitOptions): Promise<S>
  until(holds: (value: T) => boolean, options?: WaitOptions): Promise<T>
}

/** A value with a version, level-triggered: a late subscriber sees the current value, no last write is missed. */
export class Watch<T> implements Watching<T> {
  readonly #core: core.WatchCore<T>

  constructor(value: T) {
    this.#core = core.createWatch(value)
  }

  get value(): T {
    return this.#core.value
  }

  get version(): number {
    return this.#core.version
  }

  set(value: T): void {
    core.setWatch(this.#core, value)
  }

  /** Resolves with the current value as soon as its version is above `seen`; at once if it already is. */
  async changed(seen: number, options: WaitOptions = {}): Promise<WatchSnapshot<T>> {
    if (!core.hasChanged(this.#core, seen)) await waitIn(this.#core.waiters, options)
    return { value: this.#core.value, version: this.#core.version }
  }

  /** Resolves with the first value seen for which `holds` is true; values set in quick succession may be skipped. */
  async until<S extends T>(holds: (value: T) => value is S, options?: WaitOptions): Promise<S>
  async until(holds: (value: T) => boolean, options?: WaitOptions): Promise<T>
  async until(holds: (value: T) => boolean, options: WaitOptions = {}): Promise<T> {
    let seen: WatchSnapshot<T> = { value: this.value, version: this.version }
    while (!holds(seen.value)) seen = await this.changed(seen.version, options)
    return seen.value
  }

  /** How many wait now; for leak checks. */
  get waiting(): number {
    return this.#core.waiters.size
  }
}
