import { z } from 'zod'
import { type ConfigProblem, problemsOf } from './problem.ts'
import { type ConfigSchemas, type ConfigValues, type DeclaredKey, declaredKeys } from './setting.ts'
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

/** A snapshot is shared by everybody who reads it, so nobody may change it. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && !Array.isArray(value)) return value
  for (const inner of Object.values(value)) frozen(inner)
  return Object.freeze(value)
}
