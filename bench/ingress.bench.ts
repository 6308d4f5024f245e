/** What the whole pipeline costs over a bare `node:http` server that answers the same JSON. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { BenchCase } from './harness.ts'

const CONNECTIONS = 32
const WARM_UP_MS = 1000
const MEASURED_MS = 1000

/** Server and client are processes of their own: on two cores each has one, and this process waits. */
async function requestsPerSecond(kind: 'bare' | 'sampled' | 'logged'): Promise<number> {
  // Its log goes where logs cost nothing but the writing.
  const server = spawnScript(new URL('./http/server.ts', import.meta.url), [kind], 'ignore')
  try {
    const port = await firstLine(server)
    const options = [port, CONNECTIONS, WARM_UP_MS, MEASURED_MS].map(String)
    const load = spawnScript(new URL('./http/load.ts', import.meta.url), options, 'inherit')
    return Number(await firstLine(load))
  } finally {
    server.stdin.end()
    await server.exited
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

function bench(name: string, kind: 'sampled' | 'logged', log: string): BenchCase {
  return {
    name,
    unit: 'requests/s',
    higherIsBetter: true,
    peerName: 'bare node:http',
    limits: `${LIMITS}, ${log}`,
    ours: async () => await requestsPerSecond(kind),
    peer: async () => await requestsPerSecond('bare'),
  }
}

export const CASES: readonly BenchCase[] = [
  bench('json', 'sampled', 'one request in a hundred logged'),
  bench('json-logged', 'logged', 'every request logged, to /dev/null'),
]
