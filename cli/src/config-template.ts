/**
 * A configuration file to begin with: every key as a comment, with its default and what it does. Uncommenting any
 * line, or all of them, gives a valid file.
 */
import { type ConfigSchemas, type DeclaredKey, declaredKeys } from '@cairn/platform'

const HEAD = `# The configuration of a cairn node. Flags win over the environment, the environment over this file,
# this file over the defaults, which are what the comments show.
#
# live      takes effect when the node reads this file again: cairn config reload, or SIGHUP
# rebind    the same; the node opens the new port before it closes the old one
# restart   takes effect with the next start
`

export function configTemplate(schemas: ConfigSchemas): string {
  const tables = Map.groupBy(declaredKeys(schemas), ({ path }) => path.slice(0, -1).join('.'))
  const sections = Array.from(tables, ([table, keys]) => `[${table}]\n${keys.map(lines).join('\n')}`)
  return `${HEAD}\n${sections.join('\n\n')}\n`
}

function lines({ path, does, reload, default: byDefault }: DeclaredKey): string {
  const value = byDefault === undefined ? '' : ` ${JSON.stringify(byDefault)}`
  return `\n# ${does} (${reload})\n# ${path.at(-1) ?? ''} =${value}`
}
