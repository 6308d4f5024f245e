import { table } from '@cairn/kernel'
import { type ConfigSchemas, type DeclaredKey, declaredKeys } from './setting.ts'

const code = (text: string): string => `\`${text}\``

/** The body of `docs/CONFIG.md`: every key of every service, from the declarations alone. */
export function renderConfigReference(schemas: ConfigSchemas): string {
  const keys = declaredKeys(schemas)
  const head = ['key', 'environment', 'default', 'change', 'in the design notes', 'what it does']
  const sections = Object.keys(schemas).map((service) => {
    const rows = keys.filter(({ path }) => path[0] === service).map(row)
    return `## ${service}\n\n${table(head, rows)}`
  })
  return `${sections.join('\n\n')}\n`
}

function row(key: DeclaredKey): string[] {
  const environment =
    key.secret === true ? `${code(key.environment)} or ${code(`${key.environment}_FILE`)}` : code(key.environment)
  const byDefault = key.default === undefined ? '' : code(asToml(key.default))
  const designName = key.designName?.split(', ').map(code).join(', ') ?? ''
  return [code(key.key), environment, byDefault, key.reload, designName, key.does]
}

/** A value as it would stand in the file, on one line. */
function asToml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(asToml).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const pairs = Object.entries(value).map(([name, inner]) => `${name} = ${asToml(inner)}`)
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`
}
