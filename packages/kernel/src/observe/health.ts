import { Watch, type Watching } from '../channel/watch.ts'

export interface Condition {
  readonly ready: boolean
  /** Why not, and what would change it. Empty when ready. */
  readonly why: string
}

export interface Readiness {
  readonly ready: boolean
  /** The conditions that are not met. */
  readonly missing: readonly string[]
  readonly conditions: Readonly<Record<string, Condition>>
}

/**
 * Whether a service should be given work, as named conditions: ready when all of them are. Health is
 * another matter: the process is healthy until a task has failed too often.
 */
export class Health {
  readonly #readiness: Watch<Readiness>
  readonly #onFlip: (readiness: Readiness) => void
  #fatal: { readonly task: string; readonly why: string } | undefined

  /** Every condition starts unmet. `onFlip` hears when the service becomes ready, and when it is so no longer. */
  constructor(conditions: readonly string[], onFlip: (readiness: Readiness) => void = () => {}) {
    this.#onFlip = onFlip
    const unmet: Condition = { ready: false, why: 'starting' }
    this.#readiness = new Watch(readinessOf(Object.fromEntries(conditions.map((name) => [name, unmet]))))
  }

  get readiness(): Watching<Readiness> {
    return this.#readiness
  }

  meet(condition: string): void {
    this.#set(condition, { ready: true, why: '' })
  }

  miss(condition: string, why: string): void {
    this.#set(condition, { ready: false, why })
  }

  /** The task that brought the service down, if one did. */
  get fatal(): { readonly task: string; readonly why: string } | undefined {
    return this.#fatal
  }

  fail(task: string, why: string): void {
    this.#fatal ??= { task, why }
  }

  #set(name: string, condition: Condition): void {
    const { conditions } = this.#readiness.value
    const current = conditions[name]
    if (current === undefined) throw new TypeError(`The condition ${name} is not declared.`)
    if (current.ready === condition.ready && current.why === condition.why) return
    const [before, after] = [this.#readiness.value, readinessOf({ ...conditions, [name]: condition })]
    this.#readiness.set(after)
    if (before.ready !== after.ready) this.#onFlip(after)
  }
}

function readinessOf(conditions: Readonly<Record<string, Condition>>): Readiness {
  const missing = Object.keys(conditions).filter((name) => conditions[name]?.ready !== true)
  return { ready: missing.length === 0, missing, conditions }
}
