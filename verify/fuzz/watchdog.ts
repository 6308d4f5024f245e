/**
 * Names the input a target never comes back from: the thread that goes round cannot.
 *
 *     fuzzer ── each input, and how many there were ──▶ shared memory ◀── looks, once in a while ── watchdog
 *                                                                        the same one for too long: kept, told, the end
 */
import { Worker } from 'node:worker_threads'

export interface Watch {
  /** How many inputs were begun; and how long the last of them is. */
  readonly count: Int32Array
  readonly input: Uint8Array
  /** Where an input that does not end is added, in base64, as a line. */
  readonly crashers: string
  readonly timeoutMs: number
}

export class Watchdog implements AsyncDisposable {
  readonly #watch: Watch
  readonly #thread: Worker

  /** For inputs of at most so many bytes. */
  constructor(bytesMax: number, crashers: string, timeoutMs: number) {
    const count = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
    const input = new Uint8Array(new SharedArrayBuffer(bytesMax))
    this.#watch = { count, input, crashers, timeoutMs }
    this.#thread = new Worker(new URL('watchdog-thread.ts', import.meta.url), { workerData: this.#watch, execArgv: [] })
  }

  /** This input is next. */
  begin(input: Uint8Array): void {
    const { count, input: shared } = this.#watch
    shared.set(input)
    count[1] = input.length
    Atomics.add(count, 0, 1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }
}
