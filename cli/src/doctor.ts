/** `cairn doctor`: whether a node can run well here, line by line, each with its remedy. Works with the node down. */
import { CairnError, SystemClock } from '@cairn/kernel'
import { configSchemas, type NodeStatus, SERVICES } from '@cairn/node'
import { loadConfig } from '@cairn/platform'
import { type CommandContext, type CommandHandler, dataFlag, dataPath } from './command.ts'
import { sourcesOf } from './config.ts'
import { CHECKS, type DoctorFinding, type Scene } from './doctor-checks.ts'
import { withNode } from './node-admin.ts'

const SIGNS = { good: '✔', warn: '…', bad: '✖' } as const

export const doctor: CommandHandler = async (context) => {
  const scene = await sceneOf(context)
  const findings: DoctorFinding[] = []
  // One after the other: what one check does to the drive is not to show in the time another measures.
  for (const { name, look } of CHECKS) findings.push({ check: name, ...(await look(scene)) })
  const bad = findings.filter(({ state }) => state === 'bad')
  const warned = findings.filter(({ state }) => state === 'warn')
  const outcome = { result: { findings }, data: screen(findings) }
  const [first] = bad
  if (first === undefined) {
    const rest = warned.length === 0 ? '' : `; look at ${warned.map(({ check }) => check).join(', ')}`
    return { ...outcome, message: `nothing stands in the way${rest}` }
  }
  const { kind, code } = first.error ?? { kind: 'Internal', code: 'unhealthy' }
  const detail = `Not well: ${bad.map(({ check }) => check).join(', ')}.`
  const next = bad.flatMap(({ remedy }) => (remedy === undefined ? [] : [remedy]))
  return { ...outcome, error: new CairnError(kind, detail, { code }), next: [...new Set(next)] }
}

async function sceneOf(context: CommandContext): Promise<Scene> {
  const { given, terminal } = context
  const loaded = await loadConfig(configSchemas(SERVICES), sourcesOf(context, given.text('config')))
  const data = dataPath(given, terminal.environment)
  const { environment } = terminal
  const status = await statusOf(context)
  return { data, flag: dataFlag(given), loaded, status, clock: new SystemClock(), environment }
}

/** Of the node, or why there is none to be had. */
async function statusOf(context: CommandContext): Promise<NodeStatus | CairnError> {
  try {
    return await withNode(context, async (node) => await node.status())
  } catch (error) {
    if (error instanceof CairnError) return error
    throw error
  }
}

function screen(findings: readonly DoctorFinding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap(({ check, state, says, remedy }) => [
    `${SIGNS[state]} ${check.padEnd(width)}  ${says}`,
    ...(remedy === undefined ? [] : [`  ${' '.repeat(width)}  → ${remedy}`]),
  ])
  return `${lines.join('\n')}\n`
}
