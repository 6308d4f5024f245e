/** What the whole pipeline costs over a bare `node:http` server that answers the same JSON. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { BenchCase } from './harness.ts'

const CONNECTIONS = 32
const WARM_UP_MS = 3000
const MEASURED_MS = 3000

type Kind = 'sampled' | 'logged'
type Side = 'ours' | 'peer'

/**
 * Both sides are measured in one run, slice by slice (`http/load.ts`). Whoever asks first runs it; the other's figure
 * is waiting. Each of the two servers and the client is a process of its own, and this one waits.
 */
class PairedRuns {
  readonly #kind: Kind
  #waiting: { readonly side: Side; readonly figure: number } | undefined

  constructor(kind: Kind) {
    this.#kind = kind
  }

  async take(side: Side): Promise<number> {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting?.side === side) return waiting.figure
    const figures = await requestsPerSecond(this.#kind)
    const other = side === 'ours' ? 'peer' : 'ours'
    this.#waiting = { side: other, figure: figures[other] }
    return figures[side]
  }
}

async function requestsPerSecond(kind: Kind): Promise<Readonly<Record<Side, number>>> {
  // Their logs go where logs cost nothing but the writing.
  const servers = [kind, 'bare'].map((name) =>
    spawnScript(new URL('./http/server.ts', import.meta.url), [name], 'ignore'),
  )
  try {
    const ports = await Promise.all(servers.map(firstLine))
    const options = [...ports, CONNECTIONS, WARM_UP_MS, MEASURED_MS].map(String)
    const load = spawnScript(new URL('./http/load.ts', import.meta.url), options, 'inherit')
    const [ours = 0, peer = 0] = (await firstLine(load)).split(' ').map(Number)
    return { ours, peer }
  } finally {
    for (const { stdin } of servers) stdin.end()
    await Promise.all(servers.map(async ({ exited }) => await exited))
  }
}

function spawnScript(script: URL, options: readonly string[], errors: 'ignore' | 'inherit') {
  const child = spawn(process.execPath, [fileURLToPath(script), ...options], { stdio: ['pipe', 'pipe', errors] })
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
  })
  return { stdin: child.stdin, stdout: child.stdout, exited }
}

async function firstLine({ stdout }: ReturnType<typeof spawnScript>): Promise<string> {
  for await (const bytes of stdout) return String(bytes).trim()
  throw new Error('The process ended without a word.')
}

const LIMITS = `${CONNECTIONS} connections, no pipelining, loopback, rate off, 512 in flight`

function bench(name: string, kind: Kind, log: string): BenchCase {
  const runs = new PairedRuns(kind)
  return {
    name,
    unit: 'requests/s',
    higherIsBetter: true,
    peerName: 'bare node:http',
    limits: `${LIMITS}, ${log}`,
    ours: async () => await runs.take('ours'),
    peer: async () => await runs.take('peer'),
  }
}

export const CASES: readonly BenchCase[] = [
  bench('json', 'sampled', 'one request in a hundred logged'),
  bench('json-logged', 'logged', 'every request logged, to /dev/null'),
]
