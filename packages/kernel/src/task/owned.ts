import { CairnError } from '../errors.ts'

export interface OwnedSnapshot<T> {
  readonly value: T
  readonly version: number
}

/** A type error for functions that return a promise: the golden rule, checked where it is broken. */
type Synchronous<R> = R extends PromiseLike<unknown> ? never : R

/**
 * State with one owner. No task sees it half-changed, because it changes only inside a synchronous
 * step: read a snapshot, take any time to decide, then `commit` against the version you read.
 */
export class Owned<T> {
  #value: T
  #version = 0

  constructor(value: T) {
    this.#value = value
  }

  read(): OwnedSnapshot<T> {
    return { value: this.#value, version: this.#version }
  }

  /** Replaces the value by what `change` returns, in one synchronous step. */
  update<R extends T>(change: (value: T) => Synchronous<R>): OwnedSnapshot<T> {
    const next: unknown = change(this.#value)
    if (isThenable(next)) throw new CairnError('Internal', 'Owned.update was given an asynchronous function.')
    return this.#replace(next as T)
  }

  /** Replaces the value if `version` is still the current one; returns `undefined` when it is stale. */
  commit(version: number, next: T): OwnedSnapshot<T> | undefined {
    if (version !== this.#version) return undefined
    if (isThenable(next)) throw new CairnError('Internal', 'Owned.commit was given a promise.')
    return this.#replace(next)
  }

  #replace(next: T): OwnedSnapshot<T> {
    this.#value = next
    this.#version += 1
    return this.read()
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
