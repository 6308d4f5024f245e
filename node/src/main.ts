/** `cairn start`: a node, from its flags to its exit code. */
import { keepHeapSmall, RealProcess } from '@cairn/platform'
import type { ReadyFacts } from './banner.ts'
import { readStartFlags, type StartOptions } from './flags.ts'
import { openNode } from './open.ts'
import { tellServiceManager } from './service-manager.ts'
import { SERVICES } from './services.ts'
import { SignalRelay } from './signal-relay.ts'

/** A task failed too often: the code that tells a service manager to start us again. */
const EXIT_FATAL = 70
/** Told to stop a second time: what was under way did not finish. */
const EXIT_INTERRUPTED = 130

export interface NodeWatcher {
  /** Somebody reads the log as it comes: text instead of JSON lines. */
  readonly isTerminal: boolean
  /** Every service has answered its own probe. */
  onReady(facts: ReadyFacts): void
}

/** Runs a node until it is told to stop; returns the exit code. Throws, with nothing left behind, if it cannot start. */
export async function runNode(options: StartOptions, watcher: NodeWatcher): Promise<number> {
  keepHeapSmall()
  const host = new RealProcess()
  using signals = new SignalRelay(host, EXIT_INTERRUPTED)
  const { isTerminal } = watcher
  const flags = readStartFlags(options, host.environment, SERVICES)
  const { node, machine } = await openNode(flags, { environment: host.environment, services: SERVICES, isTerminal })
  await using _machine = machine
  signals.pass(node)
  await node.start(flags.modules)
  watcher.onReady({
    status: await node.status(),
    nodeVersion: process.versions.node,
    startedInMs: machine.node.platform.clock.now(),
    token: flags.amnesia ? await node.adminToken() : undefined,
  })
  tellServiceManager(host.environment, (error) => {
    if (error !== undefined)
      machine.node.platform.log.warn({ error: error.message }, 'systemd was not told that the node is ready')
  })
  await node.stopRequested()
  const { aborted, abandoned } = await node.stop()
  machine.node.platform.log.info({ aborted, abandoned }, 'stopped')
  if (node.hasFailed) return EXIT_FATAL
  return node.wasAborted ? EXIT_INTERRUPTED : 0
}
