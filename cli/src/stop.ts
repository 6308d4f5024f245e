import { CairnError, sleep } from '@cairn/kernel'
import type { Run } from './command.ts'
import { type NodeAdmin, withNode } from './node-admin.ts'
import type { Terminal } from './terminal.ts'

const POLL_MS = 50

/** Tells the node to stop and returns once its process is gone. */
export const stop: Run = async ({ given, terminal }) =>
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
