/** `cairn config …` */
import { writeFile } from 'node:fs/promises'
import { CairnError, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { checkStart, configSchemas, SERVICES, type StartProblem } from '@cairn/node'
import {
  type ConfigRow,
  type ConfigSchemas,
  type ConfigSources,
  ConfigStore,
  type DeclaredKey,
  declaredKeys,
  loadConfig,
  RealDisk,
  renderProblems,
} from '@cairn/platform'
import { type CommandContext, type CommandHandler, type CommandOutcome, dataPath } from './command.ts'
import { withNode } from './node-admin.ts'

/*
 * A configuration file to begin with: every key as a comment, with its default and what it does. Uncommenting any
 * line, or all of them, gives a valid file.
 */

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

const FILE_DEFAULT = 'cairn.toml'

/** Writes a file with every key in it. What is there already is left alone. */
export const init: CommandHandler = async ({ given }) => {
  const path = given.operands[0] ?? FILE_DEFAULT
  try {
    await writeFile(path, configTemplate(configSchemas(SERVICES)), { flag: 'wx' })
  } catch (cause) {
    const isThere = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST'
    if (isThere)
      throw new CairnError(
        'Conflict',
        `${path} is there already and stays as it is; name another file, or remove that one.`,
        { code: 'exists', cause },
      )
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CairnError('Malformed', `${path} cannot be written: ${why}.`, { code: 'usage', cause })
  }
  return {
    result: { path },
    data: `${path}\n`,
    message: 'every key is there as a comment; uncomment what you change',
    next: ['npx cairn config validate', 'npx cairn start'],
  }
}

/** Checks the file and the environment the way a start would. */
export const validate: CommandHandler = async (context) => {
  const { given } = context
  const loaded = await loadConfig(configSchemas(SERVICES), sourcesOf(context, given.operands[0]))
  const path = given.operands[0] ?? FILE_DEFAULT
  if (loaded.tag === 'loaded') {
    const values = given.has('insecure-public') ? allPublic(loaded.values) : loaded.values
    const { environment } = context.terminal
    const data = dataPath(given, environment)
    const refused = await checkStart({ values, services: SERVICES, data, environment })
    if (refused.length > 0) return refusedOutcome(path, refused)
    const changed = Object.entries(loaded.origins).filter(([, origin]) => origin !== 'default')
    const counted = changed.length === 1 ? '1 key is' : `${changed.length} keys are`
    return { result: { valid: true, problems: [] }, message: `${path} and the environment are valid; ${counted} set` }
  }
  const { problems } = loaded
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  const detail = `The configuration has ${count}:\n${renderProblems(problems)}`
  const error = new CairnError('Malformed', detail, { code: 'config' })
  return { result: { valid: false, problems }, error, next: ['npx cairn config validate'] }
}

/** Each key is right by itself, and a node would not start with them. */
function refusedOutcome(path: string, refused: readonly StartProblem[]): CommandOutcome {
  const problems = refused.map(({ service, detail }) => {
    return { reason: 'refused_by_start', place: path, key: service, detail: `${service}: ${detail}` }
  })
  const lines = problems.map(({ place, detail }) => `${place}: ${detail}`).join('\n')
  const detail = `The configuration is valid, but a node would not start with it:\n${lines}`
  const error = new CairnError('Malformed', detail, { code: 'config' })
  return { result: { valid: false, problems }, error, next: ['npx cairn config validate'] }
}

/** As `cairn start --insecure-public` would take them. */
function allPublic(values: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).map(([name, own]) => [name, { ...own, insecure_public: true }]))
}

/** What is in force: the node knows if one runs; else what a start would take. */
export const print: CommandHandler = async (context) => {
  const { given } = context
  const running = await rowsOfNode(context)
  const rows = running ?? (await rowsOfFile(context))
  const source = running === undefined ? 'what a start would take; no node runs' : 'in force in the running node'
  const width = Math.max(...rows.map(({ key }) => key.length))
  const values = rows.map(({ value }) => (value === undefined ? '(not set)' : JSON.stringify(value)))
  const valueWidth = Math.max(...values.map((value) => value.length))
  const lines = rows.map(({ key, origin, reload }, index) => {
    const value = values[index] ?? ''
    if (!given.has('origin')) return `${key.padEnd(width)}  ${value}`
    return `${key.padEnd(width)}  ${value.padEnd(valueWidth)}  ${reload.padEnd(7)}  ${origin}`
  })
  return { result: { running: running !== undefined, keys: rows }, data: `${lines.join('\n')}\n`, message: source }
}

/** Lets the node read its configuration again, and says what came of it. */
export const reload: CommandHandler = async (context) => {
  const { changes, pendingRestart } = await withNode(context, async (node) => await node.reload())
  const lines = changes.map(({ key, reload: change, origin }) => `${key}  ${change}  ${origin}\n`)
  const counted = changes.length === 1 ? '1 key changed' : `${changes.length} keys changed`
  return {
    result: { changes, pending_restart: pendingRestart },
    data: lines.join(''),
    message: `configuration read again; ${counted}`,
    warnings: pendingRestart.map((key) => `${key} takes effect with the next start`),
  }
}

async function rowsOfNode(context: CommandContext): Promise<readonly ConfigRow[] | undefined> {
  try {
    return await withNode(context, async (node) => await node.config())
  } catch (error) {
    const isAbsent = error instanceof CairnError && error.code === 'unreachable' && !context.given.has('node')
    if (isAbsent) return undefined
    throw error
  }
}

async function rowsOfFile(context: CommandContext): Promise<readonly ConfigRow[]> {
  const opened = await ConfigStore.open(configSchemas(SERVICES), sourcesOf(context, context.given.text('config')))
  if (opened.tag === 'opened') return opened.store.print()
  throw new CairnError('Malformed', `The configuration is not valid:\n${renderProblems(opened.problems)}`, {
    code: 'config',
  })
}

/** The file, named or by its default name, and the environment; no flags. */
export function sourcesOf({ terminal }: Pick<CommandContext, 'terminal'>, path: string | undefined): ConfigSources {
  return {
    file: { path: path ?? FILE_DEFAULT, required: path !== undefined },
    environment: terminal.environment,
    flags: [],
    disk: new RealDisk(systemRuntime(new MemoryLog(), new MemoryMetrics())),
  }
}
