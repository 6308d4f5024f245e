/**
 * `npm run conformance:api`: Schemathesis, a public fuzzer, holds a node at its shipped defaults to the API documents it
 * publishes: no 5xx, no answer that the document does not have, nothing valid refused, nothing invalid taken.
 *
 * Schemathesis goes into a folder outside of the clone, once. Without Python or the package the run is skipped, and says so.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { RunningNode, type Service } from '../../acceptance/node.ts'

const VERSION = '4.32.5'
const TREE = fileURLToPath(new URL('../../..', import.meta.url))
const RULES = fileURLToPath(new URL('schemathesis.toml', import.meta.url))
const SERVICES: readonly Service[] = ['node', 'storage', 'registry', 'index', 'edge', 'interop']
/** More than the longest answer takes: one that waits for a provider has the 5 s of a request. */
const REQUEST_TIMEOUT_S = 20

const { values } = parseArgs({
  options: {
    /** Generated requests for each operation and phase. */
    examples: { type: 'string', default: '15' },
    seed: { type: 'string', default: '1' },
    service: { type: 'string', multiple: true },
    /** A virtual environment of Python; made if it is not there. */
    venv: { type: 'string', default: join(homedir(), '.cache', 'cairn', `schemathesis-${VERSION}`) },
  },
})

/** The program in the environment, installed first if it must be; or why there is none. */
function schemathesis(venv: string): { readonly program: string } | { readonly absent: string } {
  const program = join(venv, 'bin', 'schemathesis')
  if (existsSync(program)) return { program }
  for (const [command, ...args] of [
    ['python3', '-m', 'venv', venv],
    [join(venv, 'bin', 'pip'), 'install', '--quiet', `schemathesis==${VERSION}`],
  ] as const) {
    const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 300_000 })
    if (status !== 0) return { absent: error?.message ?? stderr.trim().split('\n').at(-1) ?? `${command} failed` }
  }
  return { program }
}

/** What the fuzzer found of one service; nothing if all holds. */
async function judge(program: string, node: RunningNode, service: Service): Promise<string | undefined> {
  const options = {
    url: node.urls[service],
    header: `Authorization: Bearer ${await node.adminToken()}`,
    phases: 'examples,coverage,fuzzing',
    'max-examples': values.examples,
    seed: values.seed,
    'generation-database': 'none',
    warnings: 'off',
    'request-timeout': String(REQUEST_TIMEOUT_S),
  }
  const document = join(TREE, 'docs', 'generated', `openapi-${service}.json`)
  const given = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const fuzzer = spawn(
    program,
    ['--config-file', RULES, 'run', document, ...given, '--continue-on-failure', '--no-color'],
    { stdio: ['ignore', 'pipe', 'inherit'], cwd: join(node.data, '..') },
  )
  const closed = once(fuzzer, 'close')
  const said = await text(fuzzer.stdout)
  await closed
  const counted = /^ +(\d+) generated.*$/m.exec(said)?.[0].trim() ?? 'nothing counted'
  process.stdout.write(`${service}: ${counted}\n`)
  return fuzzer.exitCode === 0 ? undefined : said
}

const found = schemathesis(values.venv)
if ('absent' in found) {
  process.stdout.write(`skipped: tool absent: schemathesis ${VERSION} from PyPI (${found.absent})\n`)
  // Where nothing may be skipped, a skip is a failure.
  process.exitCode = process.env['CI'] === 'true' ? 1 : 0
} else {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-api-'))
  try {
    await using node = await RunningNode.start({ directory, tree: TREE, env: {} })
    for (const service of SERVICES) {
      if (values.service !== undefined && !values.service.includes(service)) continue
      const complaints = await judge(found.program, node, service)
      if (complaints === undefined) continue
      process.stdout.write(complaints)
      process.exitCode = 1
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
