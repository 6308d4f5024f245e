/**
 * http-cache-tests: the package on npm, installed beside the project and never in its lockfile, or a clone of its
 * repository in a folder, which is newer.
 */
import { execFileSync, fork, spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { freePorts } from '@cairn/platform/testing'

const VERSION = '0.4.5'

type Field = readonly [name: string, value: unknown, ...rest: unknown[]]

export interface SuiteTest {
  readonly id: string
  readonly name: string
  readonly kind?: 'required' | 'optimal' | 'check'
  readonly depends_on?: readonly string[]
  readonly browser_only?: boolean
  readonly requests: readonly {
    readonly request_headers?: readonly Field[]
    readonly response_headers?: readonly Field[]
    readonly interim_responses?: readonly (readonly [status: number, headers?: readonly Field[]])[]
  }[]
}

interface Suite {
  readonly id: string
  readonly tests: readonly SuiteTest[]
}

/** `true`, or what went wrong. */
export type Verdict = true | readonly [kind: string, message: string]

export interface CacheSuite {
  readonly tests: readonly SuiteTest[]
  /** Runs every test, or those of these names, against the cache at this base, which leads to the origin. */
  run(base: string, only?: readonly string[]): Promise<Readonly<Record<string, Verdict>>>
}

/** Where a suite keeps its parts: the repository moved them after 0.4.5. */
interface Layout {
  readonly client: string
  readonly server: string
  /** Which program fetches: the package of the old suite, or what Node has. */
  readonly fetch: string | undefined
}

const LAYOUTS: readonly Layout[] = [
  { client: 'test-engine/client/runner.mjs', server: 'test-engine/server/server.mjs', fetch: undefined },
  { client: 'client/runner.mjs', server: 'server/server.mjs', fetch: '../node-fetch/lib/index.mjs' },
]

function layoutOf(folder: string): Layout {
  const layout = LAYOUTS.find(({ client }) => existsSync(join(folder, client)))
  if (layout === undefined)
    throw new Error(`${folder} does not hold http-cache-tests: there is no ${LAYOUTS[0]?.client ?? ''}.`)
  return layout
}

export function installSuite(): string {
  const home = join(tmpdir(), `cairn-http-cache-tests-${VERSION}`)
  const folder = join(home, 'node_modules', 'http-cache-tests')
  if (existsSync(folder)) return folder
  mkdirSync(home, { recursive: true })
  const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock']
  execFileSync('npm', ['install', '--prefix', home, ...flags, `http-cache-tests@${VERSION}`], { stdio: 'inherit' })
  return folder
}

/** How a report names it: the commit of a clone, the version of a package. */
export function editionOf(folder: string): string {
  if (folder === installSuite()) return VERSION
  try {
    return execFileSync('git', ['-C', folder, 'rev-parse', '--short', 'HEAD'], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
  } catch {
    return 'of an unknown version'
  }
}

async function load(folder: string, path: string): Promise<Record<string, unknown>> {
  return (await import(pathToFileURL(join(folder, path)).href)) as Record<string, unknown>
}

export async function loadSuite(folder: string): Promise<CacheSuite> {
  const { default: suites } = (await load(folder, 'tests/index.mjs')) as { default: readonly Suite[] }
  return {
    tests: suites.flatMap(({ tests }) => tests).filter((test) => test.browser_only !== true),
    run: async (base, only = []) => await runApart(folder, base, only),
  }
}

/** The suite remembers its results for as long as its process lives: each run has one of its own. */
async function runApart(
  folder: string,
  base: string,
  only: readonly string[],
): Promise<Readonly<Record<string, Verdict>>> {
  const child = fork(new URL('./run-suite.ts', import.meta.url), [folder, base, ...only])
  return await new Promise((resolve, reject) => {
    child.once('message', (verdicts) => resolve(verdicts as Record<string, Verdict>))
    child.once('exit', (code) => reject(new Error(`The suite ended with ${code}.`)))
  })
}

/** Every test, or those of these names, against the cache at this base, in this process; once. */
export async function runHere(
  folder: string,
  base: string,
  only: readonly string[],
): Promise<Readonly<Record<string, Verdict>>> {
  const { default: all } = (await load(folder, 'tests/index.mjs')) as { default: readonly Suite[] }
  const isWanted = ({ id }: SuiteTest): boolean => only.length === 0 || only.includes(id)
  const suites = all.map((suite) => ({ ...suite, tests: suite.tests.filter(isWanted) }))
  const { client, fetch: fetchPath } = layoutOf(folder)
  const { runTests, getResults } = (await load(folder, client)) as {
    runTests: (...args: readonly unknown[]) => Promise<void>
    getResults: () => Record<string, Verdict>
  }
  if (fetchPath === undefined) await runTests(suites, false, base)
  else await runTests(suites, (await load(folder, fetchPath))['default'], false, base)
  return getResults()
}

/** The suite's own origin server, on a free port. */
export async function startOrigin(folder: string): Promise<{ readonly port: number; stop(): void }> {
  const port = await freePorts(1)
  const env = {
    ...process.env,
    npm_config_protocol: 'http',
    npm_config_port: String(port),
    npm_config_pidfile: join(tmpdir(), `cairn-cache-origin-${port}.pid`),
  }
  const child = spawn(process.execPath, [layoutOf(folder).server], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve())
    child.once('exit', (code) => reject(new Error(`The origin ended with ${code}.`)))
  })
  child.stdout.resume()
  return {
    port,
    stop: () => {
      child.kill()
      rmSync(env.npm_config_pidfile, { force: true })
    },
  }
}

/** Every header the tests send or look at: what an operator would list for an upstream that uses them. */
export function headersOf(tests: readonly SuiteTest[], side: 'request_headers' | 'response_headers'): string[] {
  const names = tests.flatMap(({ requests }) =>
    requests.flatMap((request) => [
      ...(request[side] ?? []).map(([name]) => name),
      ...(side === 'request_headers' ? [] : (request.interim_responses ?? [])).flatMap(([, headers = []]) =>
        headers.map(([name]) => name),
      ),
    ]),
  )
  return [...new Set(names.map((name) => name.toLowerCase()))].filter((name) => /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name))
}
