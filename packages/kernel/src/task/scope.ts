import { Cancel, type CancelOptions } from '../policy/cancel.ts'
import type { Runtime } from '../runtime.ts'

/** Work under way. The scope awaits `result`; no other task has to. */
export interface Task<T> {
  readonly name: string
  readonly result: Promise<T>
}

/**
 * Work that belongs together. `spawn` is the only way to start work, and a scope does not end before
 * its children: `join` waits for them, leaving the block aborts and waits for them. The first child
 * that fails aborts the others, and its error is what `join` throws.
 */
export class Scope implements AsyncDisposable {
  readonly name: string
  readonly #cancel: Cancel
  readonly #children = new Set<Promise<void>>()
  readonly #unlist: () => void
  #failure: { readonly error: unknown } | undefined

  constructor(runtime: Runtime, name: string, options: CancelOptions = {}) {
    this.name = name
    this.#cancel = new Cancel(options)
    this.#unlist = runtime.topology.add({ kind: 'scope', name, facts: () => ({ children: this.#children.size }) })
  }

  get signal(): AbortSignal {
    return this.#cancel.signal
  }

  /** Starts `run` now. Its failure ends the scope, even if no task awaits the result. */
  spawn<T>(name: string, run: (signal: AbortSignal) => Promise<T>): Task<T> {
    const result = Promise.try(run, this.signal)
    const child = result.then(
      () => {
        this.#children.delete(child)
      },
      (error: unknown) => {
        this.#children.delete(child)
        this.#failed(error)
      },
    )
    this.#children.add(child)
    return { name, result }
  }

  abort(reason?: unknown): void {
    this.#cancel.abort(reason)
  }

  /** Waits for every child, those spawned meanwhile included; throws the first failure. */
  async join(): Promise<void> {
    while (this.#children.size > 0) await Promise.all(this.#children)
    this.#cancel[Symbol.dispose]()
    this.#unlist()
    if (this.#failure !== undefined) throw this.#failure.error
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.abort()
    while (this.#children.size > 0) await Promise.all(this.#children)
    this.#unlist()
  }

  #failed(error: unknown): void {
    if (this.#failure !== undefined || this.signal.aborted) return
    this.#failure = { error }
    this.abort(error)
  }
}
