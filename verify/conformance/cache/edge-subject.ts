/**
 * Our edge as an ordinary operator runs it in front of the origin: `cairn start` in a process of its own, its data in a
 * directory on a disk, one upstream, the headers it uses listed. The code is that of every node.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@cairn/platform/testing'
import { headersOf, type SuiteTest } from './suite.ts'

const LAUNCHER = fileURLToPath(new URL('../../../cli/bin/cairn.js', import.meta.url))
/** The ports of a node: its own and one for each service. */
const PORTS = 8
/** As `statfs` names a file system in memory. */
const TMPFS = 0x01021994
/** Of what the node says on standard error, kept for a start that fails. */
const LOG_CHARACTERS_KEPT = 4000

/** What the suite's origin and client say beside what the tests declare. */
const REQUEST_HEADERS = ['test-id', 'test-name', 'req-num', 'cache-control', 'pragma']
const RESPONSE_HEADERS = [
  'server-base-url',
  'server-request-count',
  'client-request-count',
  'server-now',
  'request-numbers',
  'capability-seen',
]

export interface Subject {
  readonly name: string
  readonly base: string
  stop(): Promise<void>
}

export async function startEdgeSubject(originPort: number, tests: readonly SuiteTest[]): Promise<Subject> {
  const directory = await diskDirectory()
  const config = join(directory, 'cairn.toml')
  await writeFile(config, configText(originPort, tests))
  const ports = ['--port-base', String(await freePorts(PORTS))]
  const node = spawn(
    process.execPath,
    [LAUNCHER, 'start', '--data', join(directory, 'data'), '--config', config, ...ports],
    {
      cwd: directory,
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const stop = async (): Promise<void> => {
    await ended(node)
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const url = await edgeUrl(node)
    return { name: 'cairn edge', base: `${url.replace(/\/$/, '')}/edge/assets/u/tests`, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Never in memory: a disk takes its time, and what the cache does meanwhile is part of what is judged. */
async function diskDirectory(): Promise<string> {
  const base = (await statfs(tmpdir())).type === TMPFS ? '/var/tmp' : tmpdir()
  return await mkdtemp(join(base, 'cairn-cache-'))
}

/** TOML takes lists of strings as JSON writes them. */
function configText(originPort: number, tests: readonly SuiteTest[]): string {
  const list = (names: readonly string[]): string => JSON.stringify([...new Set(names)])
  return `[edge]
mode = "live"
allow = ["127.0.0.1:${originPort}"]
dev_allow_loopback_http = true

[edge.ingress]
max_rps = 0

[edge.routes.tests]
upstream = "http://127.0.0.1:${originPort}/"
request_headers = ${list([...REQUEST_HEADERS, ...headersOf(tests, 'request_headers')])}
response_headers = ${list([...RESPONSE_HEADERS, ...headersOf(tests, 'response_headers')])}
pass_methods = ["POST", "PUT", "PATCH", "DELETE", "M-SEARCH"]
`
}

/** From the line that says that every service is ready. */
async function edgeUrl(node: ChildProcess): Promise<string> {
  let log = ''
  node.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = `${log}${text}`.slice(-LOG_CHARACTERS_KEPT)
  })
  if (node.stdout === null) throw new Error('The node has no standard output.')
  for await (const line of createInterface({ input: node.stdout })) {
    if (!line.startsWith('{"event":"ready"')) continue
    const { urls } = JSON.parse(line) as { urls: Readonly<Record<string, readonly string[]>> }
    const [url] = urls['edge'] ?? []
    if (url !== undefined) return url
  }
  throw new Error(`The node did not become ready:\n${log}`)
}

async function ended(node: ChildProcess): Promise<void> {
  if (node.exitCode !== null || node.signalCode !== null) return
  const exit = once(node, 'exit')
  node.kill('SIGTERM')
  await exit
}
