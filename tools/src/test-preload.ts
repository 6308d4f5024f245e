/**
 * Loaded by every test process before its tests.
 *
 * The runner follows every promise from its making to its end. It needs that while tests are declared, to know which suite
 * they belong to; after that it only serves to say which test an error came from that nobody awaited. Tests in virtual
 * time make millions of promises, and a quarter of their time went there. So it ends when the first test begins: such an
 * error still fails the run and is shown, but as the file's.
 */
import { type AsyncHook, createHook } from 'node:async_hooks'
import { beforeEach } from 'node:test'
import { inspect } from 'node:util'

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

/** The runner keeps only the message of what nobody awaited. */
function show(error: unknown): void {
  process.stderr.write(`${inspect(error)}\n`)
}
// oxlint-disable-next-line house/no-process-events -- nobody else can know
process.on('uncaughtExceptionMonitor', show)
// oxlint-disable-next-line house/no-process-events -- nobody else can know
process.on('unhandledRejection', show)
