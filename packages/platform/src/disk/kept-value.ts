/**
 * A value with a small file behind it, replaced whole: what counts is durable.
 *
 *     change ─▶ its turn ─▶ next(value) ─┬─ something ─▶ written ─▶ counts
 *                                        └─ nothing ───▶ done, unless the last write failed: then the file is as good as
 *                                                        any, and is written once more
 */
import { Owned, Semaphore } from '@cairn/kernel'
import type { Disk } from './disk.ts'
import { replaceSmallFile } from './durable-file.ts'

export interface KeptFile<T> {
  readonly disk: Disk
  readonly path: string
  readonly encode: (value: T) => Uint8Array
}

export class KeptValue<T> {
  readonly #file: KeptFile<T>
  readonly #value: Owned<T>
  readonly #turn = new Semaphore(1)
  #isInDoubt = false

  /** `value` is what the file says, or what it means that there is none. */
  constructor(file: KeptFile<T>, value: T) {
    this.#file = file
    this.#value = new Owned(value)
  }

  /** The last that is durable. */
  get value(): T {
    return this.#value.read().value
  }

  /** Whether there was something to change; `next` says to what, or nothing. It is as asked, durably, once this resolves. */
  async change(next: (value: T) => T | undefined): Promise<boolean> {
    using _turn = await this.#turn.acquire()
    const { value, version } = this.#value.read()
    const changed = next(value)
    if (changed === undefined && !this.#isInDoubt) return false
    const { disk, path, encode } = this.#file
    this.#isInDoubt = true
    await replaceSmallFile(disk, path, encode(changed ?? value))
    this.#isInDoubt = false
    if (changed === undefined) return false
    this.#value.commit(version, changed)
    return true
  }
}
