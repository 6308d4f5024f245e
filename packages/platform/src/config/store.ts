/**
 * The configuration of a node while it runs.
 *
 *     reload ─▶ read and validate all ─▶ compare ─▶ prepare rebinds ─▶ swap every snapshot ─▶ finish rebinds
 *                      │                                  │              (one synchronous step)
 *                      └─ refused ────────────────────────┴─▶ roll back: the old snapshots stay
 *
 * A changed `restart` key does not enter the snapshot, which says what is in force; it is reported as pending.
 */
import { isDeepStrictEqual } from 'node:util'
import { Config, type ConfigSnapshot, type MetricTable, type Runtime, toCairnError } from '@cairn/kernel'
import { z } from 'zod'
import { type ConfigProblem, type ConfigRefusalReason, problemsOf, renderProblems, valueAt } from './problem.ts'
import { type ConfigSchemas, type ConfigValues, type DeclaredKey, declaredKeys, type Reload } from './setting.ts'
import { type ConfigSources, readLayers } from './sources.ts'

export type Loaded<S extends ConfigSchemas> =
  | {
      readonly tag: 'loaded'
      /** Every declared key. */
      readonly keys: readonly DeclaredKey[]
      readonly values: ConfigValues<S>
      /** By full key, every declared key included. */
      readonly origins: Readonly<Record<string, string>>
    }
  | { readonly tag: 'refused'; readonly problems: readonly ConfigProblem[] }

/** Reads every layer and validates the whole; either all of it holds, or every problem is named and nothing does. */
export async function loadConfig<S extends ConfigSchemas>(schemas: S, sources: ConfigSources): Promise<Loaded<S>> {
  const keys = declaredKeys(schemas)
  const layers = await readLayers(keys, sources)
  const whole = z.strictObject(schemas).safeParse(layers.tree)
  const invalid = whole.success ? [] : problemsOf(whole.error.issues, schemas, layers.tree, layers.places)
  const problems = [...layers.problems, ...invalid]
  if (!whole.success || problems.length > 0) return { tag: 'refused', problems }
  const origins = Object.fromEntries(keys.map(({ key }) => [key, layers.origins.get(key) ?? 'default']))
  return { tag: 'loaded', keys, values: frozen(whole.data) as ConfigValues<S>, origins }
}

/** Freezes a snapshot in depth: all its readers share it. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && !Array.isArray(value)) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}

/** Who asked for a reload; a label, so a closed set. */
export type ReloadSource = 'signal' | 'bus' | 'admin'

export interface ConfigChange {
  readonly key: string
  readonly reload: Reload
  /** Where the new value is from. */
  readonly origin: string
}

export type ReloadOutcome =
  | { readonly tag: 'reloaded'; readonly changes: readonly ConfigChange[]; readonly pendingRestart: readonly string[] }
  | { readonly tag: 'refused'; readonly problems: readonly ConfigProblem[] }

/** A new listener, open beside the old one. Exactly one of the two is called. */
export interface Rebinding {
  /** The snapshot is swapped: close the old one. Never throws. */
  finish(): Promise<void>
  /** Another service could not follow: close the new one. Never throws. */
  rollBack(): Promise<void>
}

/** What a running service does about a reload. */
export interface ConfigFollower<T> extends Pick<Runtime, 'log' | 'metrics'> {
  /** Opens what the new values ask for, beside what is open now. A throw refuses the whole reload. */
  rebind?(next: T): Promise<Rebinding>
}

/** The rows a service adds to its metric table for its follower. */
export function reloadMetrics(service: string): MetricTable {
  return {
    [`${service}_reload_success_total`]: {
      type: 'counter',
      labels: ['source'],
      help: 'Configurations taken over while running, by who asked.',
    },
    [`${service}_reload_fail_total`]: {
      type: 'counter',
      labels: ['reason'],
      help: 'Configurations refused while running; the old one stayed in force.',
    },
  }
}

export type OpenedConfig<S extends ConfigSchemas> =
  | { readonly tag: 'opened'; readonly store: ConfigStore<S> }
  | { readonly tag: 'refused'; readonly problems: readonly ConfigProblem[] }

/** One row of `config print --origin`. */
export interface ConfigRow {
  readonly key: string
  readonly value: unknown
  readonly origin: string
  readonly reload: Reload
}

interface Followed<T> {
  readonly config: Config<T>
  follower: ConfigFollower<T> | undefined
}

export class ConfigStore<S extends ConfigSchemas> {
  readonly #schemas: S
  readonly #sources: ConfigSources
  readonly #keys: readonly DeclaredKey[]
  readonly #services: { readonly [Service in keyof S]: Followed<z.output<S[Service]>> }
  /** Settles when the reload under way has ended, however it did. */
  #running: Promise<void> = Promise.resolve()
  #next: Promise<ReloadOutcome> | undefined

  private constructor(schemas: S, sources: ConfigSources, first: Loaded<S> & { tag: 'loaded' }) {
    this.#schemas = schemas
    this.#sources = sources
    this.#keys = first.keys
    const services = Object.keys(schemas).map((service) => {
      const config = new Config(this.#snapshotOf(service, first.values, first.origins))
      return [service, { config, follower: undefined }]
    })
    this.#services = Object.fromEntries(services) as { [Service in keyof S]: Followed<z.output<S[Service]>> }
  }

  /** The first load. A node with a refused configuration does not start. */
  static async open<S extends ConfigSchemas>(schemas: S, sources: ConfigSources): Promise<OpenedConfig<S>> {
    const loaded = await loadConfig(schemas, sources)
    if (loaded.tag === 'refused') return loaded
    return { tag: 'opened', store: new ConfigStore(schemas, sources, loaded) }
  }

  config<Service extends keyof S>(service: Service): Config<z.output<S[Service]>> {
    return this.#services[service].config
  }

  /** From now on the service counts and logs reloads, and moves its listeners when they ask for it. */
  follow<Service extends keyof S>(service: Service, follower: ConfigFollower<z.output<S[Service]>>): void {
    this.#services[service].follower = follower
  }

  /** Reads everything again. Calls that come while one runs share the one run that follows it. */
  async reload(source: ReloadSource): Promise<ReloadOutcome> {
    this.#next ??= this.#afterRunning(source)
    return await this.#next
  }

  /** Every key with the value in force; secrets are not shown. */
  print(): ConfigRow[] {
    return this.#keys.map((key) => {
      const { values, origins } = this.#serviceOf(key).config.snapshot.value
      const value = valueAt(values, key.path.slice(1))
      const shown = key.secret === true && value !== undefined ? '(secret)' : value
      return { key: key.key, value: shown, origin: origins[key.key] ?? 'default', reload: key.reload }
    })
  }

  async #afterRunning(source: ReloadSource): Promise<ReloadOutcome> {
    await this.#running
    this.#next = undefined
    const run = this.#reload(source)
    this.#running = run.then(ignore, ignore)
    return await run
  }

  async #reload(source: ReloadSource): Promise<ReloadOutcome> {
    const outcome = await this.#apply()
    for (const service of Object.keys(this.#services)) this.#announce(service, source, outcome)
    return outcome
  }

  async #apply(): Promise<ReloadOutcome> {
    const loaded = await loadConfig(this.#schemas, this.#sources)
    if (loaded.tag === 'refused') return loaded
    const changed = this.#keys.filter((key) => {
      const inForce = this.#serviceOf(key).config.current
      return !isDeepStrictEqual(valueAt(inForce, key.path.slice(1)), valueAt(loaded.values, key.path))
    })
    const values = this.#inForce(loaded.values, changed)
    const origins = this.#originsInForce(loaded.origins, changed)
    const rebindings = await this.#prepare(values, changed)
    if (!Array.isArray(rebindings)) return { tag: 'refused', problems: [rebindings] }
    for (const service of Object.keys(this.#services)) {
      this.#services[service]?.config.swap(this.#snapshotOf(service, values, origins))
    }
    await Promise.all(rebindings.map(async (rebinding) => await rebinding.finish()))
    const changes = changed.map(({ key, reload }) => ({ key, reload, origin: loaded.origins[key] ?? 'default' }))
    const pendingRestart = changes.filter(({ reload }) => reload === 'restart').map(({ key }) => key)
    return { tag: 'reloaded', changes, pendingRestart }
  }

  /** The new values, but with what only a restart can change as it is now. */
  #inForce(loaded: ConfigValues<S>, changed: readonly DeclaredKey[]): ConfigValues<S> {
    let values: unknown = loaded
    for (const key of changed) {
      if (key.reload !== 'restart') continue
      values = withValue(values, key.path, valueAt(this.#serviceOf(key).config.current, key.path.slice(1)))
    }
    return values as ConfigValues<S>
  }

  #originsInForce(loaded: Readonly<Record<string, string>>, changed: readonly DeclaredKey[]): Record<string, string> {
    const kept = changed.filter(({ reload }) => reload === 'restart')
    const origins = { ...loaded }
    for (const key of kept) origins[key.key] = this.#serviceOf(key).config.snapshot.value.origins[key.key] ?? 'default'
    return origins
  }

  /** Opens every new listener; if one cannot be, closes those that were and says which. */
  async #prepare(values: ConfigValues<S>, changed: readonly DeclaredKey[]): Promise<Rebinding[] | ConfigProblem> {
    const rebindings: Rebinding[] = []
    const services = new Set(changed.filter(({ reload }) => reload === 'rebind').map(({ path }) => path[0] ?? ''))
    for (const service of services) {
      try {
        const rebinding = await this.#services[service]?.follower?.rebind?.(values[service] as z.output<S[string]>)
        if (rebinding !== undefined) rebindings.push(rebinding)
      } catch (error) {
        await Promise.all(rebindings.map(async (rebinding) => await rebinding.rollBack()))
        const detail = `${service} could not move to its new listener and stays on the old one: ${toCairnError(error).message}`
        return { reason: 'rebind_failed', place: service, key: service, detail }
      }
    }
    return rebindings
  }

  #announce(service: string, source: ReloadSource, outcome: ReloadOutcome): void {
    const follower = this.#services[service]?.follower
    if (follower === undefined) return
    if (outcome.tag === 'refused') {
      const reason: ConfigRefusalReason = outcome.problems[0]?.reason ?? 'invalid_value'
      follower.metrics.count(`${service}_reload_fail_total`, { reason })
      const problems = renderProblems(outcome.problems)
      follower.log.error({ source, reason, problems }, 'configuration refused; the old one stays in force')
      return
    }
    const own = (key: string): boolean => key.startsWith(`${service}.`)
    const changes = outcome.changes.filter(({ key }) => own(key)).map(({ key, reload }) => `${key} (${reload})`)
    const pendingRestart = outcome.pendingRestart.filter(own)
    follower.metrics.count(`${service}_reload_success_total`, { source })
    follower.log.info({ source, changes, pendingRestart }, 'configuration reloaded')
  }

  #serviceOf(key: DeclaredKey): Followed<z.output<S[keyof S]>> {
    const [service = ''] = key.path
    const found = this.#services[service]
    if (found === undefined) throw new TypeError(`${key.key} belongs to no service of this node.`)
    return found
  }

  #snapshotOf<Service extends keyof S & string>(
    service: Service,
    values: ConfigValues<S>,
    origins: Readonly<Record<string, string>>,
  ): ConfigSnapshot<z.output<S[Service]>> {
    const own = Object.entries(origins).filter(([key]) => key.startsWith(`${service}.`))
    return { values: values[service], origins: Object.fromEntries(own) }
  }
}

function ignore(): void {}

/** The tree with one value replaced; everything beside the path is shared with the original. */
function withValue(tree: unknown, path: readonly string[], value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  return Object.freeze({ ...(tree as object), [step]: withValue(valueAt(tree, [step]), rest, value) })
}
