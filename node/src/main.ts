/** `npm start` and `cairn start`: a node, from its first line to its exit code. */
import { toCairnError } from '@cairn/kernel'
import { RealProcess } from '@cairn/platform'
import { banner, readyEvent } from './banner.ts'
import { readStartFlags, START_HELP } from './flags.ts'
import { openNode } from './open.ts'
import { failureScreen } from './screens.ts'
import { SERVICES } from './services.ts'

/** A task failed too often: the code that tells a service manager to start us again. */
const EXIT_FATAL = 70

async function main(args: readonly string[]): Promise<number> {
  const host = new RealProcess()
  const flags = readStartFlags(args, host.environment, SERVICES)
  if (flags.help) {
    process.stdout.write(START_HELP)
    return 0
  }
  const isTerminal = process.stderr.isTTY
  const { node, machine } = await openNode(flags, { environment: host.environment, services: SERVICES, isTerminal })
  await using _machine = machine
  const stopListening = host.onSignal((signal) => {
    if (signal === 'hangup') node.requestReload('signal')
    else node.requestStop()
  })
  try {
    await node.start(flags.modules)
    const token = await node.adminToken()
    const facts = {
      status: await node.status(),
      nodeVersion: process.versions.node,
      startedInMs: machine.node.platform.clock.now(),
      token: flags.amnesia ? token : undefined,
    }
    if (isTerminal || flags.amnesia) process.stderr.write(banner(facts))
    if (!process.stdout.isTTY) process.stdout.write(readyEvent(facts))
    await node.stopRequested()
    const { aborted, abandoned } = await node.stop()
    machine.node.platform.log.info({ aborted, abandoned }, 'stopped')
    return node.hasFailed ? EXIT_FATAL : 0
  } finally {
    stopListening()
  }
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const { text, exitCode } = failureScreen(toCairnError(error))
  process.stderr.write(text)
  process.exitCode = exitCode
}
