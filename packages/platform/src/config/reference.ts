import { table } from '@cairn/kernel'
import { type ConfigSchemas, type DeclaredKey, declaredKeys } from './setting.ts'

/** How many services must declare a setting in the same words before it moves into the common table. */
const COMMON_FROM = 3

const code = (text: string): string => `\`${text}\``

/**
 * The body of `docs/CONFIG.md`: every key of every service, from the declarations alone. A setting that services share
 * stands once, in a table of its own, with the services and their defaults.
 */
export function renderConfigReference(schemas: ConfigSchemas): string {
  const groups = groupBySetting(declaredKeys(schemas))
  const common = groups.filter((keys) => keys.length >= COMMON_FROM)
  const own = groups.filter((keys) => keys.length < COMMON_FROM).flat()
  const sections = Object.keys(schemas).map((service) => {
    const rows = own.filter(({ path }) => path[0] === service).map((key) => row(key, code(key.key), shown(key)))
    return `## ${service}\n\n${table(['key', ...COLUMNS], rows)}`
  })
  const shared = common.map((keys) => commonRows(keys, Object.keys(schemas).length))
  const intro =
    'Each of these is a key of every service named with it: `max_rps` of the edge is `edge.ingress.max_rps`.'
  const first =
    common.length === 0 ? [] : [`## Common settings\n\n${intro}\n\n${table(['key', ...COLUMNS], shared.flat())}`]
  return `${[...first, ...sections].join('\n\n')}\n`
}

const COLUMNS = ['default', 'change', 'in the design notes', 'what it does'] as const

/** Keys that differ only in their service and their default, in order of declaration. */
function groupBySetting(keys: readonly DeclaredKey[]): DeclaredKey[][] {
  const groups = new Map<string, DeclaredKey[]>()
  for (const key of keys) {
    const words = [key.path.slice(1).join('.'), key.reload, key.does, key.designName, key.secret].join('\n')
    groups.set(words, [...(groups.get(words) ?? []), key])
  }
  return [...groups.values()]
}

function commonRows(keys: readonly DeclaredKey[], serviceCount: number): string[][] {
  const [first] = keys
  if (first === undefined) return []
  const name = code(`SERVICE.${first.path.slice(1).join('.')}`)
  const services = (of: readonly DeclaredKey[]): string => of.map(({ path }) => path[0]).join(', ')
  const where = keys.length === serviceCount ? name : `${name} (${services(keys)})`
  const byDefault = new Map<string, DeclaredKey[]>()
  for (const key of keys) byDefault.set(shown(key), [...(byDefault.get(shown(key)) ?? []), key])
  const defaults = [...byDefault].map(([value, of]) => (byDefault.size === 1 ? value : `${services(of)}: ${value}`))
  return [row(first, where, defaults.join('; '))]
}

function row(key: DeclaredKey, name: string, byDefault: string): string[] {
  const designName = key.designName?.split(', ').map(code).join(', ') ?? ''
  return [name, byDefault, key.reload, designName, key.secret === true ? `${key.does} (secret)` : key.does]
}

function shown(key: DeclaredKey): string {
  return key.default === undefined ? '' : code(asToml(key.default))
}

/** A value as it would stand in the file, on one line. */
function asToml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(asToml).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const pairs = Object.entries(value).map(([name, inner]) => `${name} = ${asToml(inner)}`)
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`
}
