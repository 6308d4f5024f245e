/**
 * How a service declares its configuration: sections of settings, each setting once with everything
 * there is to know about it, and the byte sizes and durations that settings take.
 *
 *     section ─┬─ setting   max_body_bytes   live      "1MiB"
 *              └─ section   cors
 *                   └─ setting  allow_origins  live    []
 *
 * Validation, types, `docs/CONFIG.md`, `config print` and the plan of a reload all read this one tree.
 */
import { formatByteSize, formatDuration, parseByteSize, parseDuration } from '@cairn/wire'
import { z } from 'zod'

/** The least and the most of a byte size or duration: `"64KiB"`, `"3s"`, or a number of the unit in the key's name. */
export interface QuantityBounds {
  readonly min?: number
  readonly max?: number
}

export type Quantity = z.ZodType<number, string | number>

/** A number of bytes, between the bounds. */
export function byteSize(bounds: QuantityBounds = {}): Quantity {
  return quantity({ parse: parseByteSize, format: formatByteSize, form: 'a size such as "64KiB"', ...bounds })
}

/** A number of milliseconds, between the bounds. */
export function duration(bounds: QuantityBounds = {}): Quantity {
  return quantity({
    parse: parseDuration,
    format: formatDuration,
    form: 'a duration such as "3s" or "1500ms"',
    ...bounds,
  })
}

interface Unit extends QuantityBounds {
  readonly parse: (text: string) => number
  readonly format: (value: number) => string
  readonly form: string
}

function quantity(unit: Unit): Quantity {
  const { format, form, min = 0, max = Number.MAX_SAFE_INTEGER } = unit
  return z.union([z.string(), z.number()], { error: `must be ${form}` }).transform((input, context) => {
    const value = read(unit, input)
    if (value !== undefined && value >= min && value <= max) return value
    const range =
      max === Number.MAX_SAFE_INTEGER ? `at least ${format(min)}` : `between ${format(min)} and ${format(max)}`
    context.addIssue({ code: 'custom', message: value === undefined ? `must be ${form}` : `must be ${range}` })
    return z.NEVER
  })
}

function read({ parse }: Unit, input: string | number): number | undefined {
  if (typeof input === 'number') return Number.isSafeInteger(input) && input >= 0 ? input : undefined
  try {
    return parse(input)
  } catch {
    return undefined
  }
}

/** What a changed value needs: nothing, a new listener, or a new process. */
export type Reload = 'live' | 'rebind' | 'restart'

export interface SettingFacts {
  readonly reload: Reload
  /** One sentence for the reference. */
  readonly does: string
  /** The value is never shown, and may come from a file named by `…_FILE` in the environment. */
  readonly secret?: boolean
  /** What the design notes call it, where that differs from the key. */
  readonly designName?: string
}

/** Facts by schema. Filled while modules load and never changed after; the schemas are its (weak) keys. */
const FACTS = z.registry<SettingFacts>()

/**
 * Declares one key. Refinements belong inside `schema`: what is chained on the result is not the declared
 * key any more. A default is written as the user would write it, so it is validated like everything else.
 */
export function setting<S extends z.ZodType>(
  schema: S,
  facts: SettingFacts & { readonly default: z.input<S> },
): z.ZodPrefault<S>
export function setting<S extends z.ZodType>(schema: S, facts: SettingFacts): z.ZodOptional<S>
export function setting<S extends z.ZodType>(
  schema: S,
  { default: byDefault, ...facts }: SettingFacts & { readonly default?: z.input<S> },
): z.ZodPrefault<S> | z.ZodOptional<S> {
  const declared = byDefault === undefined ? z.optional(schema) : z.prefault(schema, byDefault)
  FACTS.add(declared, facts)
  return declared
}

/** Groups settings under a name. Keys that are not declared are errors; a section left out is all defaults. */
export function section<Shape extends z.ZodRawShape>(shape: Shape): z.ZodPrefault<z.ZodObject<Shape, z.core.$strict>> {
  const strict = z.strictObject(shape)
  return z.prefault(strict, {} as z.input<typeof strict>)
}

/** The configuration of a node: one section for each service, by the service's name. */
export type ConfigSchemas = Readonly<Record<string, z.ZodType>>
export type ConfigValues<S extends ConfigSchemas> = { readonly [Service in keyof S]: z.output<S[Service]> }

export interface DeclaredKey extends SettingFacts {
  /** `storage.ingress.max_body_bytes` */
  readonly key: string
  readonly path: readonly string[]
  /** `CAIRN__STORAGE__INGRESS__MAX_BODY_BYTES` */
  readonly environment: string
  readonly schema: z.core.$ZodType
  /** As it is written in the declaration; undefined where there is none. */
  readonly default: unknown
}

export const ENVIRONMENT_PREFIX = 'CAIRN__'

/** Every setting, in order of declaration. Throws if something in the tree is neither a section nor a setting. */
export function declaredKeys(schemas: ConfigSchemas): DeclaredKey[] {
  return Object.entries(schemas).flatMap(([service, schema]) => keysIn(schema, [service]))
}

function keysIn(schema: z.core.$ZodType, path: readonly string[]): DeclaredKey[] {
  const key = path.join('.')
  const facts = FACTS.get(schema)
  if (facts !== undefined) {
    const environment = ENVIRONMENT_PREFIX + path.map((part) => part.toUpperCase()).join('__')
    const byDefault: unknown = schema instanceof z.ZodPrefault ? schema.def.defaultValue : undefined
    return [{ ...facts, key, path, environment, schema, default: byDefault }]
  }
  const inner = unwrapped(schema)
  if (!(inner instanceof z.ZodObject)) throw new TypeError(`${key} is declared without setting() or section().`)
  const shape: z.core.$ZodShape = inner.shape
  return Object.entries(shape).flatMap(([name, child]) => keysIn(child, [...path, name]))
}

/** The names the schema knows at `path`; empty where it knows none, or where any name is legal. */
export function namesAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodUnion) return inner.options.flatMap((option) => namesAt(option, path))
  const [step, ...rest] = path
  if (step === undefined) return inner instanceof z.ZodObject ? Object.keys(inner.shape) : []
  if (inner instanceof z.ZodArray) return namesAt(inner.element, rest)
  if (inner instanceof z.ZodRecord) return namesAt(inner.valueType, rest)
  const shape: z.core.$ZodShape = inner instanceof z.ZodObject ? inner.shape : {}
  const child = shape[String(step)]
  return child === undefined ? [] : namesAt(child, rest)
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  let inner = schema
  while (
    inner instanceof z.ZodPrefault ||
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodReadonly
  ) {
    inner = inner.unwrap()
  }
  return inner
}
