import { CairnError, sleep } from '@cairn/kernel'
import type { NodeStatus } from '@cairn/node'
import { type CommandHandler, type CommandOutcome, dataFlag } from './command.ts'
import { type NodeAdmin, withNode } from './node-admin.ts'
import type { Terminal } from './terminal.ts'

/** What the node says about itself. A node that is not ready is an answer too, with an exit code of its own. */
export const status: CommandHandler = async ({ given, terminal }) => {
  const found = await withNode({ given, terminal }, async (node) => await node.status())
  const outcome: CommandOutcome = { result: found, data: screen(found) }
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

const POLL_MS = 50

/** Tells the node to stop and returns once its process is gone. */
export const stop: CommandHandler = async ({ given, terminal }) =>
  await withNode({ given, terminal }, async (node) => {
    const pids = await orderStop(node)
    const [pid] = pids
    const isGone = async (): Promise<boolean> => !(await node.isAlive()) && !(node.isLocal && pids.some(isRunning))
    const startedAt = node.runtime.clock.now()
    const progress = new WaitLine(terminal, given.has('quiet') || given.has('json'))
    try {
      while (!(await isGone())) {
        if (node.deadline.expired) throw stillThere(node, pid)
        progress.show(
          `waiting for ${pid === undefined ? 'the node' : `pid ${pid}`}`,
          node.runtime.clock.now() - startedAt,
        )
        await sleep(node.runtime.clock, POLL_MS)
      }
    } finally {
      progress.clear()
    }
    const seconds = (node.runtime.clock.now() - startedAt) / 1000
    return {
      result: { pid: pid ?? null, stopped: true, waited_ms: Math.round(seconds * 1000) },
      message: `stopped in ${seconds.toFixed(1)} s`,
    }
  })

/** The pid of each process of the node, unless it is stopping already and tells no more. */
async function orderStop(node: NodeAdmin): Promise<readonly number[]> {
  try {
    const pids = await node.pids()
    await node.stop()
    return pids
  } catch (error) {
    if (error instanceof CairnError && error.code === 'draining') return []
    throw error
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM: it is there, and somebody else's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function stillThere({ place }: NodeAdmin, pid: number | undefined): CairnError {
  const how = pid === undefined ? '' : ` A second signal makes it give up what is under way: kill ${pid}.`
  return new CairnError('Timeout', `The node at ${place} is still finishing its work.${how}`)
}

/** One line that says what is waited for and how long; only where somebody watches. */
class WaitLine {
  readonly #terminal: Terminal
  readonly #isShown: boolean
  #isThere = false

  constructor(terminal: Terminal, isQuiet: boolean) {
    this.#terminal = terminal
    this.#isShown = terminal.isWatched && !isQuiet
  }

  show(what: string, elapsedMs: number): void {
    if (!this.#isShown) return
    this.#terminal.say(`\r\u001B[K… ${what}, ${(elapsedMs / 1000).toFixed(1)} s`)
    this.#isThere = true
  }

  clear(): void {
    if (this.#isThere) this.#terminal.say('\r\u001B[K')
  }
}
