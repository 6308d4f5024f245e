import { Watch, type Watching } from '../channel/watch.ts'

export interface ConfigSnapshot<T> {
  readonly values: T
  /** Where each key's value came from: `default`, `file:12:3`, `env CAIRN__…`, `flag --port`. */
  readonly origins: Readonly<Record<string, string>>
}

/** A service's configuration: validated whole, swapped whole, so a reader never sees half of a change. */
export class Config<T> {
  readonly #snapshot: Watch<ConfigSnapshot<T>>

  constructor(snapshot: ConfigSnapshot<T>) {
    this.#snapshot = new Watch(snapshot)
  }

  /** The values in force. Read once per piece of work, not once per field. */
  get current(): T {
    return this.#snapshot.value.values
  }

  get snapshot(): Watching<ConfigSnapshot<T>> {
    return this.#snapshot
  }

  swap(next: ConfigSnapshot<T>): void {
    this.#snapshot.set(next)
  }
}
