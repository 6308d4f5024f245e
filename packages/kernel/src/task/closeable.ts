import type { Runtime } from '../runtime.ts'

/**
 * Something that must be closed: idempotent `close`, `await using`, and an entry among the living
 * until then. JavaScript never runs code when an object is dropped at a moment one can rely on, so a
 * dropped one is a debug line, whenever the collector gets to it, and a failed leak check at once.
 */
export abstract class Closeable implements AsyncDisposable {
  readonly #unlist: () => void
  #closing: Promise<void> | undefined

  constructor(runtime: Runtime, name: string) {
    this.#unlist = runtime.topology.track(this, { kind: 'resource', name, facts: () => ({}) })
  }

  /** Releases the resource; every call returns the outcome of the first. */
  async close(): Promise<void> {
    this.#closing ??= this.#finish()
    await this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  get closed(): boolean {
    return this.#closing !== undefined
  }

  /** What closing means here; runs once. */
  protected abstract release(): Promise<void>

  async #finish(): Promise<void> {
    try {
      await this.release()
    } finally {
      this.#unlist()
    }
  }
}
