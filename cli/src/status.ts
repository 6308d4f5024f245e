import { CairnError } from '@cairn/kernel'
import type { NodeStatus } from '@cairn/node'
import type { Outcome, Run } from './command.ts'
import { withNode } from './node-admin.ts'
import { dataFlag } from './places.ts'

/** What the node says about itself. A node that is not ready is an answer too, with an exit code of its own. */
export const status: Run = async ({ given, terminal }) => {
  const found = await withNode({ given, terminal }, async (node) => await node.status())
  const outcome: Outcome = { result: found, data: screen(found) }
  const flag = dataFlag(given)
  const waiting = found.services.filter(({ ready }) => !ready).map(({ name }) => name)
  if (waiting.length > 0 || !found.ready) {
    const error = new CairnError('StorageBusy', `Not ready: ${waiting.join(', ') || 'the node'}.`, {
      code: 'not_ready',
    })
    const isLost = found.services.some(({ missing }) => missing.includes('journal_whole'))
    return { ...outcome, error, next: [isLost ? `npx cairn interop adopt${flag}` : `npx cairn status${flag}`] }
  }
  const degraded = found.services.filter(({ concerns }) => concerns.length > 0).map(({ name }) => name)
  if (degraded.length === 0) return outcome
  const error = new CairnError('StorageBusy', `Ready, but degraded: ${degraded.join(', ')}.`, { code: 'degraded' })
  const storage = degraded.includes('storage') ? [`npx cairn repair${flag} --wait`, `npx cairn peers${flag}`] : []
  return { ...outcome, error, next: [...storage, `npx cairn doctor${flag}`] }
}

function screen({ version, pid, uptime_ms, data, kept, urls, services }: NodeStatus): string {
  const width = Math.max(4, ...services.map(({ name }) => name.length))
  const row = (sign: string, name: string, text: string): string => `  ${sign} ${name.padEnd(width)}  ${text}`
  const lines = services.flatMap(({ name, ready, missing, concerns, summary, urls: own }) => [
    row(ready && concerns.length === 0 ? '✔' : '…', name, ready ? summary : `waiting for ${missing.join(', ')}`),
    ...concerns.map((concern) => row(' ', '', concern)),
    ...own.map((url) => row(' ', '', url)),
  ])
  const [first = 'nowhere', ...rest] = urls
  return `${[
    `cairn ${version} · pid ${pid} · up ${spell(uptime_ms)}`,
    '',
    ...lines,
    row('✔', 'node', first),
    ...rest.map((url) => row(' ', '', url)),
    row(' ', 'data', kept ? `${data} (kept)` : 'in memory (nothing survives a stop)'),
  ].join('\n')}\n`
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** The two largest units that are not zero: `3 d 4 h`. */
function spell(ms: number): string {
  let seconds = Math.floor(ms / 1000)
  const parts: string[] = []
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size)
    seconds -= count * size
    if (count > 0) parts.push(`${count} ${unit}`)
  }
  return parts.slice(0, 2).join(' ') || '0 s'
}
