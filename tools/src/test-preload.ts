/**
 * Loaded by every test process before its tests. It gives the process an empty working directory, lets everything the
 * tests start carry the mark by which the guard of the run finds it (`run-guard.ts`), and takes a burden from the runner:
 *
 * The runner follows every promise from its making to its end. It needs that while tests are declared, to know which suite
 * they belong to; after that it only serves to say which test an error came from that nobody awaited. Tests in virtual
 * time make millions of promises, and a quarter of their time went there. So it ends when the first test begins: such an
 * error still fails the run and is shown, but as the file's.
 */
import { type AsyncHook, createHook } from 'node:async_hooks'
import { ChildProcess } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { after, beforeEach } from 'node:test'
import { inspect } from 'node:util'
import { isMainThread } from 'node:worker_threads'
import { MARK } from './run-guard.ts'
import { START_DIRECTORY } from './test-environment.ts'

const hooks = Object.getPrototypeOf(createHook({})) as AsyncHook
// oxlint-disable-next-line typescript/unbound-method -- always called with a hook
const { enable } = hooks
const enabled: AsyncHook[] = []

hooks.enable = function enableAndRemember(this: AsyncHook): AsyncHook {
  enabled.push(this)
  return enable.call(this)
}
// The runner begins here, with the first word it hears.
beforeEach(() => {
  for (const hook of enabled.splice(0)) hook.disable()
})
hooks.enable = enable

/** How long what the tests have opened may take to close once they are over. */
const CLOSING_MS = 10_000

// A test that hangs fails at its limit, but what it waits for goes on and would keep this process for ever.
after(() => {
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ')
    process.stderr.write(`The tests are over, and something of theirs is still open: ${open}\n`)
    process.exit(1)
  }, CLOSING_MS).unref()
})

/** The runner keeps only the message of what nobody awaited. */
function show(error: unknown): void {
  process.stderr.write(`${inspect(error)}\n`)
}
// oxlint-disable-next-line cairn/no-process-events -- only this process can know
process.on('uncaughtExceptionMonitor', show)
// oxlint-disable-next-line cairn/no-process-events -- only this process can know
process.on('unhandledRejection', show)

// A process that a test forks was given its directory by the test, and stays there.
const start = process.env[START_DIRECTORY]
if (isMainThread && start !== undefined && process.cwd() === start) process.chdir(mkdtempSync(join(start, 't-')))

/** Node's own, under every way to start a process but the synchronous ones; these pass the environment on. */
type Spawn = (this: ChildProcess, options: { readonly envPairs?: string[] }) => number

const spawn = Reflect.get(ChildProcess.prototype, 'spawn') as Spawn
const mark = process.env[MARK]
const spawnMarked: Spawn = function spawnMarked(options) {
  const isMarked = options.envPairs?.some((pair) => pair.startsWith(`${MARK}=`)) ?? true
  if (!isMarked && mark !== undefined) options.envPairs?.push(`${MARK}=${mark}`)
  return spawn.call(this, options)
}
Object.assign(ChildProcess.prototype, { spawn: spawnMarked })
